"""The folder of checkpoints, in each framework."""

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
