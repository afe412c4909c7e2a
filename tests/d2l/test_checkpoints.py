"""The folder of checkpoints, in each framework."""

import shutil
from pathlib import Path

import pytest


def save(d2l, folder, step, text):
    """Save a checkpoint that contains one text."""
    draft = d2l.draft_checkpoint(folder, step)
    (draft / "text").write_text(text)
    return d2l.publish_checkpoint(draft)


def test_a_cut_between_two_names_leaves_a_checkpoint(d2l, tmp_path, monkeypatch):
    """A step that is saved again has no folder with its final name for a moment."""
    rename = Path.rename

    def cut(path, target):
        if path.suffix == ".draft":
            raise KeyboardInterrupt
        return rename(path, target)

    save(d2l, tmp_path, 2, "before")
    save(d2l, tmp_path, 3, "first")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", cut)
        with pytest.raises(KeyboardInterrupt):
            save(d2l, tmp_path, 3, "second")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"step-00000002", "step-00000003.old", "step-00000003.draft"}
    for _ in range(2):  # the next save is cut as well
        newest = d2l.latest_checkpoint(tmp_path)
        assert newest is not None and (newest / "text").read_text() == "first"
        d2l.draft_checkpoint(tmp_path, 4)
    assert save(d2l, tmp_path, 3, "third") == d2l.latest_checkpoint(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"step-00000002", "step-00000003"}


def fit(d2l, folder, max_epochs=1):
    """Return a trainer that has trained with checkpoints."""
    trainer = d2l.Trainer(max_epochs)
    model = d2l.MLP(10, 8, 0.1)
    trainer.fit(model, d2l.Digits(batch_size=500), checkpoint_dir=folder)
    return trainer


def test_other_things_in_the_folder_are_ignored(d2l, fw, tmp_path):
    (tmp_path / "step-notes").mkdir()
    (tmp_path / "step-notes.old").mkdir()
    (tmp_path / "step-00000099").write_text("a file")
    assert d2l.latest_checkpoint(tmp_path) is None
    fit(d2l, tmp_path)
    names = {"step-notes", "step-notes.old", "step-00000099", "step-00000003"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_file_in_place_of_the_folder_is_an_error_at_once(d2l, fw, tmp_path):
    (tmp_path / "file").touch()
    for name in "file", "file/folder":
        with pytest.raises(ValueError, match="file.*cannot be made: .*; choose") as e:
            fit(d2l, tmp_path / name)
        assert "\n" not in str(e.value)


def test_a_checkpoint_of_another_framework_is_one_clear_error(d2l, fw, tmp_path):
    (tmp_path / "step-00000099").mkdir()
    message = f"not a checkpoint of {fw.tab}.; choose another folder, or set"
    with pytest.raises(ValueError, match=f"(?i){message}"):
        fit(d2l, tmp_path)


def test_a_run_with_fewer_epochs_than_the_checkpoint_warns(d2l, fw, tmp_path):
    fit(d2l, tmp_path, 2)
    with pytest.warns(UserWarning, match="a later epoch than max_epochs=1, so noth"):
        assert fit(d2l, tmp_path, 1).train_batch_idx == 6


def test_a_copy_of_a_checkpoint_stays(d2l, tmp_path):
    best = save(d2l, tmp_path, 3, "best")
    shutil.copytree(best, tmp_path / "step-00000003.best")
    for step in 4, 5, 6:
        save(d2l, tmp_path, step, "later")
    assert (tmp_path / "step-00000003.best/text").read_text() == "best"
    assert not best.exists()


def test_curves_are_those_of_the_checkpoint(d2l, fw, tmp_path):
    """An earlier training of the same model has drawn other curves."""
    trainer, model = d2l.Trainer(1), d2l.MLP(10, 8, 0.1)
    data = d2l.Digits(batch_size=500)
    trainer.fit(model, data)
    once = {name: [p.x for p in curve] for name, curve in model.board.data.items()}
    trainer.fit(model, data, checkpoint_dir=tmp_path)
    again = {name: [p.x for p in curve] for name, curve in model.board.data.items()}
    assert again == once
