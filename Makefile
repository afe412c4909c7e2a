# The book's commands. `make help` prints them: it reads the text behind each `##`,
# and the lines that begin with `##` as the names of groups.

.DEFAULT_GOAL := html
.DELETE_ON_ERROR:
ifndef TOGETHER  # in turn, also under -j: the fast tests first
.NOTPARALLEL:
endif
.PHONY: html live lab run eval export import notebooks slides pdf publish release lib check serve test test-all \
	system test-book test-site test-static test-d2l test-chapter test-timing test-wheel \
	test-hosts hosts tools \
	bench-trainer bench-kernels bench-scaling quick lint coverage \
	mutate plans audit test-plans lock clean help golden

TABS := $(shell sed -n 's/^tabs *= *//p' config.ini | tr -d ',')
CODE := book tests d2l benchmarks

BOOK := .venvs/book/bin/python -m book
TEST := .venvs/test/bin/python -m
# A few tests at a time, one more than there are cores since some wait; a group of tests
# that share what takes long to make stays on one worker.
SPREAD := -n 3 --dist loadgroup --durations=10
# The tests of `make test`, or with ALL=1 those of `make test-all` that do not depend on
# the speed of the machine.
TIER = -m '$(if $(ALL),not timing,not slow and not timing)'
built = .venvs/$(1)/built-from.sha256
# For what runs before there is any environment: sets $$python, or stops.
define FIND_PYTHON
for python in python3.11 python3 .venvs/python/bin/python ''; do \
	if $$python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
		then break; fi 2> /dev/null; \
done; \
if [ -z "$$python" ]; then \
	echo 'error: no Python 3.11 on PATH; on Debian 12: apt-get install python3;' \
		'elsewhere, with uv: uv venv --python 3.11 .venvs/python' >&2; \
	exit 1; \
fi
endef
# A setting as an option, quoted for the shell, if make's command line gives it, even
# as nothing: a variable of the same name in the environment is another program's.
# The option has the value as it was typed. Make would expand it for the environment.
given = $(filter command,$(origin $(1)))
option = $(if $(call given,$(1)),--$(2)='$(subst ','\'',$(value $(1)))')
SETTINGS := TAB SECTION MACHINE JOBS PYTHON FORCE OUTPUTS PDF PUSH TO FROM ROUNDS GPUS PORT OLDEST BASE PAGE
SETTINGS += ORIGIN UPGRADE HOST PLACE EDITION VERSION
unexport $(SETTINGS)
# A misspelt setting is an error, unless another make calls this one. Other programs'
# variables have an underscore, but for CI.
unknown := $(foreach name,$(filter-out $(SETTINGS) ALL TOGETHER SPREAD CI SHELL MAKEFLAGS,$(.VARIABLES)),\
	$(if $(findstring _,$(name)),,$(if $(call given,$(name)),$(name))))
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(strip $(unknown))),)
$(error $(firstword $(unknown)): unknown setting; make help lists them)
endif
# So is a setting that no command of the call takes. A command takes those that its recipe
# passes on as options; the tests take ALL.
settings := $(strip $(foreach name,$(SETTINGS) ALL,$(if $(call given,$(name)),$(name))))
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(settings)),)
goals := $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))
recipe_of = $(shell sed -n '\|^$(subst ','\'',$(1)):|,/^$$/p' $(firstword $(MAKEFILE_LIST)))
comma := ,
taken := $(filter $(SETTINGS),$(subst $(comma), ,$(foreach goal,$(goals),$(call recipe_of,$(goal))))) $(if $(filter test% system,$(goals)),ALL)
ignored := $(filter-out $(taken),$(settings))
ifneq ($(ignored),)
$(error $(firstword $(ignored)): make $(goals) does not take this setting; make help says which commands do)
endif
endif

## Read the book

html: $(call built,book)  ## build it, print the path of its first page; plain `make` does this
	@$(BOOK) html

pdf: $(call built,book)  ## typeset it in PyTorch, or in the frameworks that TAB= names
	@$(BOOK) pdf $(call option,TAB,tab)

slides: $(call built,book)  ## make decks of slides, print the path of their list; TAB= SECTION=
	@$(BOOK) slides $(call option,TAB,tab) $(call option,SECTION,section)

serve: $(call built,book)  ## show it on 127.0.0.1, build and reload on each change; PORT=8000
	@$(BOOK) serve $(call option,PORT,port)

publish: $(call built,book)  ## lay out _build/publish for a static host; PDF=0 PUSH=1 EDITION=v1.0
	@$(BOOK) publish $(call option,PDF,pdf) $(call option,PUSH,push) \
		$(call option,EDITION,edition)

release: $(call built,book)  ## give the book a new version, print what is left to do; VERSION=1.0.0
	@$(BOOK) release $(call option,VERSION,version)

## Run its code

live: $(call built,book)  ## serve pages whose cells run on this machine; TAB= PYTHON= PORT=8000 ORIGIN=
	@$(BOOK) live $(call option,TAB,tab) $(call option,PYTHON,python) \
		$(call option,PORT,port) $(call option,ORIGIN,origin)

lab: $(call built,book)  ## open the notebooks in JupyterLab; TAB= SECTION= PYTHON= PORT=8888 ORIGIN=
	@$(BOOK) lab $(call option,TAB,tab) $(call option,SECTION,section) \
		$(call option,PYTHON,python) $(call option,PORT,port) \
		$(call option,ORIGIN,origin)

notebooks: $(call built,book)  ## write notebooks that run alone, and a zip; TAB= SECTION= OUTPUTS=1 MACHINE=
	@$(BOOK) notebooks $(call option,TAB,tab) $(call option,SECTION,section) \
		$(call option,OUTPUTS,outputs) $(call option,MACHINE,machine)

eval: $(call built,book)  ## lay the kept outputs where `d2lbook build html` and `pdf` look for them
	@$(BOOK) eval

run: $(call built,book)  ## run what is stale, keep the outputs; TAB= SECTION= MACHINE= JOBS= PYTHON= FORCE=1
	@$(BOOK) run $(call option,TAB,tab) $(call option,SECTION,section) \
		$(call option,MACHINE,machine) $(call option,JOBS,jobs) \
		$(call option,PYTHON,python) $(call option,FORCE,force)

export: $(call built,book)  ## write a folder to run stale sections elsewhere; MACHINE= TO= TAB= SECTION= FORCE=1
	@$(BOOK) export $(call option,MACHINE,machine) $(call option,TAB,tab) \
		$(call option,SECTION,section) $(call option,FORCE,force) \
		$(call option,TO,to)

import: $(call built,book)  ## keep the results of an exported folder that are of today's code; FROM=
	@$(BOOK) import $(call option,FROM,from)

## Write it

check: $(call built,book)  ## check the sources by all rules for authors, and that d2l is up to date
	@$(BOOK) check
	@$(BOOK) lib --check

lib: $(call built,book)  ## write the package d2l from the cells marked \#@save
	@$(BOOK) lib

plans: $(call built,plans) $(call built,pytorch)  ## write what XLA and Triton plan for GPUs that need not be there: d2l/*.csv
	@JAX_PLATFORMS=cpu .venvs/plans/bin/python -m benchmarks.plans
	@JAX_PLATFORMS=cpu .venvs/plans/bin/python -m benchmarks.kernel_plans
	@JAX_PLATFORMS=cpu .venvs/plans/bin/python -m benchmarks.collectives
	@.venvs/plans/bin/python -m benchmarks.turns

audit: $(call built,pytorch) $(call built,test)  ## predict the published measurements again; writes what the audit shows
	@PYTHONPATH=. .venvs/pytorch/bin/python tests/d2l/predicted_steps.py
	@PYTHONPATH=. .venvs/test/bin/python tests/d2l/audit_quantiles.py
	@PYTHONPATH=. .venvs/test/bin/python -m benchmarks.audit
	@$(BOOK) lib
	@.venvs/test/bin/node img/src/audit.js

lock: $(call built,book)  ## pin the environments of pyproject.toml, in environments/NAME.txt; UPGRADE=
	@$(BOOK) lock $(call option,UPGRADE,upgrade)

hosts: $(call built,book)  ## write down the versions that Colab, Kaggle and SageMaker publish; HOST=colab
	@$(BOOK) hosts $(call option,HOST,host)

clean:  ## remove what was built, but no environments, records, editions or notebooks of lab
	@if [ -d _build ]; then find _build -mindepth 1 -maxdepth 1 ! -name lab ! -name editions -exec rm -rf {} +; fi

help:  ## this list
	@awk -F ':.*  ## ' '/^## / {printf "\n%s:\n", substr($$0, 4)} /^[a-z0-9-]+:.*  ## / \
		{gsub(/\\#/, "#", $$2); printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'TAB      one or more of: $(TABS); live and lab: the first, if not given'
	@echo 'SECTION  one or more sections, such as use-gpu'
	@echo 'MACHINE  the name that records are kept under, cpu if not given; export needs it'
	@echo 'JOBS     notebooks to run at a time'
	@echo "PYTHON   an interpreter in place of the book's own: live, lab, run, test-wheel, benches"
	@echo 'OLDEST   1 to test the wheel with the oldest frameworks that it supports'
	@echo 'HOST     one or more of: colab, kaggle, sagemaker; all, if not given'
	@echo 'FORCE    1 to run what is fresh too'
	@echo 'OUTPUTS  1 to write notebooks with the recorded outputs'
	@echo 'PDF      0 to publish no PDFs'
	@echo 'PUSH     1 to push the notebooks to the branch that config.ini names'
	@echo 'EDITION  an edition to publish, which _build/editions keeps; without it, the newest pages'
	@echo 'VERSION  the version that release gives to the book'
	@echo 'TO, FROM the folder to export to, _build/export/MACHINE if not given, and to import'
	@echo 'BASE     a checkout of another commit for golden; build the same things in both'
	@echo 'PAGE     a page, such as use-gpu: golden shows all that differs there, and only that'
	@echo 'ALL      1 for all tests of a part, in place of those of make test'
	@echo 'ROUNDS   turns of each loop or kernel in a bench, 7 if not given; steps in bench-scaling;'
	@echo '         faults that mutate plants, 60 if not given'
	@echo 'PLACE    a room or a module for mutate, such as book/facts or d2l/launcher.py'
	@echo 'GPUS     1 to train on a GPU in bench-trainer; how many in bench-scaling'
	@echo 'UPGRADE  packages or tabs whose newest releases lock takes, or 1 for all; without it, pins stay'
	@echo 'PORT     where to serve, 8000 if not given, or 8888 for lab'
	@echo 'ORIGIN   the https address that a proxy gives this port, such as https://host/path: live, lab'

## Test it

test: system lint check test-book test-site test-d2l test-chapter  ## the core of everything, in about 17 minutes

test-all:  ## everything but test-plans and test-hosts: all pages, decks, sections, PDFs, timings
	@$(MAKE) test ALL=1
	@$(MAKE) test-timing

quick: lint check  ## for daily work: style, rules, the fast tests of the pipeline, changed sections
	$(TEST) pytest $(SPREAD) -m 'not slow and not timing' --changed tests/book \
		tests/benchmarks tests/chapter/test_sections.py

system:  ## install programs and fonts for the tests, as root; else say how
	@$(FIND_PYTHON); $$python -m book.base.system install \
		$(if $(ALL),,book pytorch mxnet browser)

lint: tools  ## style and types of Python and JavaScript, and the order of imports in book/
	$(TEST) ruff check $(CODE) img/src
	$(TEST) ruff format --check $(CODE) img/src
	$(TEST) mypy --explicit-package-bases $(CODE)
	.venvs/test/bin/lint-imports --no-cache --no-logo
	.venvs/test/bin/node .venvs/node/node_modules/typescript/bin/tsc --project static

test-book: $(call built,test)  ## the pipeline; needs no framework
	$(TEST) pytest $(SPREAD) $(TIER) tests/book tests/benchmarks tests/wheel

test-site: test-static  ## the site, in a browser too; needs no framework
	$(TEST) pytest $(SPREAD) $(TIER) tests/site

test-static: tools  ## the scripts of the figures, in Node, beside the library's numbers
	@mkdir -p _build
	@PYTHONPATH=. .venvs/test/bin/python tests/static/library.py > _build/library.json
	.venvs/test/bin/node --test --test-reporter=dot 'tests/static/*.test.js'

test-d2l:  ## the package, in each framework's own environment, two at a time; test-d2l-jax
	@$(MAKE) -j2 -Otarget TOGETHER=1 $(TABS:%=test-d2l-%)

test-d2l-%: $(call built,%)
	.venvs/$*/bin/python -m pytest $(TIER) tests/d2l --tab $* --durations=5

test-chapter: $(call built,test)  ## fresh runs of notebooks, compared with their records
	$(TEST) pytest $(SPREAD) $(TIER) tests/chapter

test-timing: tools  ## what depends on the speed of the machine: alone, one test at a time
	for part in book site chapter; do \
		$(TEST) pytest -m timing tests/$$part || exit 1; \
	done
	for tab in $(TABS); do \
		.venvs/$$tab/bin/python -m pytest -m timing tests/d2l --tab $$tab || exit 1; \
	done

test-wheel: $(call built,test)  ## the package as a wheel, in a new environment; TAB=jax PYTHON=python3.13 OLDEST=1
	@PYTHONPATH=. .venvs/test/bin/python tests/wheel/installing.py $(call option,TAB,tab) \
		$(call option,PYTHON,python) $(call option,OLDEST,oldest)

test-hosts: $(call built,test)  ## the hosted notebooks with the versions of a host; HOST=colab TAB= SECTION= JOBS=2
	@PYTHONPATH=. .venvs/test/bin/python tests/chapter/hosts.py $(call option,HOST,host) \
		$(call option,TAB,tab) $(call option,SECTION,section) $(call option,JOBS,jobs)

test-plans: $(call built,plans)  ## XLA's plans and JAX's kernels; downloads 220 MB, so in no other command
	.venvs/plans/bin/python -m pytest $(addprefix tests/d2l/test_,plans_jax.py kernels_jax.py memory_command_jax.py) --tab jax

tools: $(call built,test)  ## make the browser and the Node tools of the tests ready
	@PYTHONPATH=. .venvs/test/bin/python tests/site/tools.py

golden: $(call built,test)  ## compare this checkout, and what it built, with another; BASE=FOLDER PAGE=
	@.venvs/test/bin/python tests/golden/compare.py $(call option,BASE,base) \
		$(call option,PAGE,page)

coverage: $(call built,test)  ## which lines of book/ its tests do not reach
	@rm -rf _build/coverage && mkdir -p _build/coverage
	-@$(TEST) coverage run -m pytest $(SPREAD) tests/book
	@$(TEST) coverage combine --quiet && $(TEST) coverage report

of_d2l = $(filter d2l%,$(value PLACE))
mutate: $(call built,test) $(if $(of_d2l),$(call built,pytorch))  ## plant faults, print those that the nearest tests miss; PLACE=book/facts ROUNDS=60
	@mkdir -p _build
	@PYTHONPATH=. .venvs/test/bin/python tests/mutation/mutants.py $(call option,PLACE,place) \
		$(call option,ROUNDS,rounds) > _build/mutants.json
	@PYTHONPATH=. $(if $(of_d2l),.venvs/pytorch,.venvs/test)/bin/python \
		tests/mutation/survivors.py _build/mutants.json

## Measure it

bench-trainer: $(call built,test)  ## the Trainer beside a bare loop and other trainers; TAB= ROUNDS=7 GPUS= PYTHON=
	@$(TEST) benchmarks.trainer $(call option,TAB,tab) \
		$(call option,ROUNDS,rounds) $(call option,GPUS,gpus) $(call option,PYTHON,python)

bench-kernels: $(call built,test)  ## the chapter's kernels beside the framework's, on a GPU; TAB= ROUNDS=7 PYTHON=
	@$(TEST) benchmarks.kernels $(call option,TAB,tab) \
		$(call option,ROUNDS,rounds) $(call option,PYTHON,python)

bench-scaling: $(call built,test)  ## efficiency on several GPUs, predicted and measured; GPUS=4 ROUNDS=20 PYTHON=
	@$(TEST) benchmarks.scaling $(call option,GPUS,gpus) \
		$(call option,ROUNDS,rounds) $(call option,PYTHON,python)

# A list of pins that changes makes its environment anew; .venvs/NAME/ is made whole
# or not at all by book/base/environments.py, which any Python 3.11 can run.
.PRECIOUS: .venvs/%/built-from.sha256
.venvs/%/built-from.sha256: environments/%.txt
	@$(FIND_PYTHON); $$python -m book.base.environments $* > /dev/null && touch $@
