"""Bytes of a training step that really runs, by role, counted in each framework."""

from typing import Any

import numpy as np


def counted(fw: Any, model: Any, batch: tuple, accumulate: int = 1) -> dict[str, int]:
    """Return the bytes of the roles that a framework lets the tests count."""
    return globals()[f"count_{fw.tab}"](fw, model, batch, accumulate)


def count_pytorch(fw: Any, model: Any, batch: tuple, accumulate: int) -> dict:
    size = fw.d2l.count_step(model, list(batch), accumulate, fw.torch.float32)
    return size._asdict()


def count_mxnet(fw: Any, model: Any, batch: tuple, accumulate: int) -> dict:
    """Count what a forward pass keeps, and the least peak of later steps."""
    d2l, optimizer = fw.d2l, fw.d2l.one_optimizer(model)

    def loss() -> Any:
        return model.loss(model(*batch[:-1]), batch[-1])

    def step() -> None:
        with fw.mx.autograd.record():
            value = loss()
        value.backward()
        optimizer.step(1)

    model.hybridize()
    for _ in range(4):
        step()
    states = [list(u.states.values()) for u in getattr(optimizer, "_updaters", [])]
    grads = [array.grad for array in d2l.trained_arrays(model)]
    fixed = [*d2l.all_arrays(model), *grads, *d2l.flatten(states), *batch]
    peaks = []
    for _ in range(5):  # the engine may free an array later than usual
        with d2l.MemoryTape(fixed) as record:
            step()
        peaks.append(max(record.tape))
    return {"activations": d2l.saved_bytes(loss), "peak": min(peaks)}


def count_jax(fw: Any, model: Any, batch: tuple, accumulate: int) -> dict:
    """Count the state after a step, and the real arrays that the gradients need."""
    jax, nbytes, trainer = fw.jax, fw.d2l.nbytes, fw.d2l.Trainer(max_epochs=1)
    trainer.key, trainer.train_dataloader = jax.random.key(0), [batch]
    trainer.prepare_model(model)
    state = trainer.state
    after, _ = jax.jit(trainer.train_step)(state, batch)

    @jax.jit
    def residuals(params: Any, batch: tuple) -> list:
        def loss(params: Any) -> Any:
            value = model.loss(params, batch[:-1], batch[-1], state)
            return value[0] if isinstance(value, tuple) else value

        known = {id(a) for a in jax.tree.leaves((params, batch))}
        _, pullback = jax.vjp(loss, params)
        return [a for a in jax.tree.leaves(pullback) if id(a) not in known]

    kept = residuals(state.params, batch)
    constants = [a for a in kept if a.size > 1 and np.unique(a).size == 1]
    return {
        "weights": nbytes([state.params, state.batch_stats]),
        "gradients": nbytes(after.params),
        "optimizer": nbytes(after.opt_state),
        "activations": sum(a.nbytes for a in kept) - sum(a.nbytes for a in constants),
        "batch": nbytes(batch),
    }


def count_tensorflow(fw: Any, model: Any, batch: tuple, accumulate: int) -> dict:
    """Count the arrays of an eager step; `test_memory_tensorflow.py` has its peak."""
    (X, y), optimizer = batch, fw.d2l.one_optimizer(model)
    with fw.tf.GradientTape() as tape:
        loss = model.loss(model(X, training=True), y)
    params = model.trainable_variables
    grads = fw.d2l.add_gradients([], tape.gradient(loss, params))
    optimizer.apply_gradients(zip(grads, params, strict=True))

    def size(tensors: Any) -> int:
        return sum(np.array(tensor).nbytes for tensor in tensors)

    return {
        "weights": size(model.variables),
        "gradients": size(grads),
        "optimizer": size(getattr(optimizer, "variables", [])),
        "batch": size({id(item): item for item in batch}.values()),
    }
