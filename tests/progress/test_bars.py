"""Bars on terminals and in notebooks: what is drawn, what is left behind, and where nothing is."""

from __future__ import annotations

import builtins
import copy
import io
import os
import pickle
import sys
import threading
import types
from itertools import count

import numpy as np
import pytest
from helpers.progress import ERASE, HIDE, MEMBERS, ROWS, SHOW, DrawnBar, SetClock, make, record
from joblib import Parallel, delayed
from rich.console import Console
from sklearn.base import clone

import partita
from partita import KernelKMeans, KMeans, KMedoids, choose_k, load, save
from partita.observers import WatchedTask
from partita.progress import bars, surfaces
from partita.progress import screen as screens
from partita.progress.bars import ProgressBar
from partita.progress.lines import LineText
from partita.progress.screen import Screen
from partita.progress.surfaces import TerminalSurface, is_worker, surface_on
from partita.several_starts import fit_several_starts

SLOW, QUICK = 0.4, 1e-6  # seconds that pass whenever the clock is read
TASK = WatchedTask("fit", "KMeans")


def watched(seconds=SLOW, **settings):
    return DrawnBar(SetClock(step=seconds), **settings)


# --- what is drawn --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_draws_its_name_and_removes_the_bar(name):
    bar = watched()
    model = make(name, callback=bar).fit(ROWS)
    assert any(f"{name} ━" in frame for frame in bar.frames)
    assert all(len(frame.splitlines()) <= 1 for frame in bar.frames)
    assert bar.output.count(HIDE) == bar.output.count(SHOW) == 1
    assert bar.output.endswith(ERASE)
    assert model.labels_.tolist() == make(name).fit(ROWS).labels_.tolist()


def test_fits_of_less_than_half_a_second_show_nothing():
    bar = watched(QUICK)
    KMeans(5, n_init=5, random_state=0, callback=bar).fit(ROWS)
    assert bar.output == ""


def test_restarts_are_counted():
    bar = watched()
    KMeans(5, init="random", n_init=3, random_state=0, callback=bar).fit(ROWS)
    for run in (1, 2, 3):
        assert any(f"start {run} of 3, iteration 2, J " in frame for frame in bar.frames)


@pytest.mark.parametrize("quality", ["balanced", "best"])
def test_a_search_shows_its_budget(quality):
    bar = watched(0.02)
    KMeans(5, quality=quality, time_budget=5000, random_state=0, callback=bar).fit(ROWS)
    frames = [frame for frame in bar.frames if "local search" in frame]
    assert frames
    assert all("at most" in frame for frame in frames)


@pytest.mark.parametrize("estimator", [KMeans(), KMedoids()])
def test_a_sweep_counts_its_fits_and_shows_those_within(estimator):
    bar = watched()
    estimator.set_params(callback=bar)
    sweep = choose_k(
        ROWS[:80], range(2, 5), estimator=estimator, n_references=2, callback=bar, random_state=0
    )
    assert any("choose_k ━" in frame and "fits 2 of 4, K = " in frame for frame in bar.frames)
    assert any("uniform data 2 of 3" in frame for frame in bar.frames)
    assert next(task.name for task in bar.heard if isinstance(task, WatchedTask)) == "choose_k"
    nested = type(estimator).__name__
    assert any(f"{nested} " in frame for frame in bar.frames) == (nested == "KMedoids")
    assert bar.output.endswith(ERASE)
    assert sweep.complete


def test_several_starts_are_one_task():
    bar = watched()
    model = fit_several_starts(KernelKMeans(5, random_state=0, callback=bar), ROWS)
    tasks = [task for task in bar.heard if isinstance(task, WatchedTask)]
    assert [task.name for task in tasks] == ["KernelKMeans"]
    assert model.n_init > 1
    assert any(f"start {model.n_init}, iteration" in frame for frame in bar.frames)


class EndingBar(DrawnBar):
    """A bar that ends the work with the first record."""

    def __call__(self, progress):
        return super().__call__(progress) or True


def test_bounds_show_their_gap_and_their_time():
    bar = EndingBar(SetClock(step=2 * SLOW))
    labels = KMeans(3, random_state=0).fit(ROWS).labels_
    partita.certify(ROWS, labels, time_limit=5000, callback=bar)
    assert bar.heard[0] == WatchedTask("bounds", "certify", 5000, keeps_result=True)
    (frame,) = bar.frames
    assert frame.startswith("certify ━")
    assert "at most 1.4 h left, " in frame
    assert ": gap " in frame
    bar = EndingBar(SetClock(step=2 * SLOW))
    partita.exact(ROWS[:60], 6, callback=bar, random_state=0)
    assert bar.heard[0] == WatchedTask("bounds", "exact", None, keeps_result=True)
    (frame,) = bar.frames
    assert frame.startswith("exact ━")
    assert " s so far, " in frame
    assert " nodes: gap " in frame


def test_partial_streams_checkpoints_and_files_are_fits_too(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, ROWS)
    for X, options in ((ROWS, {"checkpoint": tmp_path / "state"}), (path, {})):
        bar = watched()
        KMeans(5, random_state=0, callback=bar, memory_limit="20kB").fit(X, **options)
        assert any("KMeans ━" in frame for frame in bar.frames)


def test_partitions_draw_too():
    da = pytest.importorskip("dask.array")
    bar = watched()
    KMeans(5, random_state=0, callback=bar).fit(da.from_array(ROWS, chunks=(100, 3)))
    assert any("KMeans ━" in frame for frame in bar.frames)


def test_a_line_is_never_wider_than_the_terminal():
    bar = watched(width=40)
    KMeans(5, n_init=3, random_state=0, callback=bar).fit(ROWS)
    assert any(frame.endswith("…") for frame in bar.frames)
    assert max(map(len, bar.frames)) <= 40


def test_names_are_text_and_not_markup():
    surface = TerminalSurface(Console(file=io.StringIO(), force_terminal=True, width=60))
    surface.draw([LineText("[bold]x[/bold]", None, "[red]y")])
    surface.close()
    assert "[bold]x[/bold]" in surface._console.file.getvalue()
    assert "[red]y" in surface._console.file.getvalue()


# --- where nothing is drawn -----------------------------------------------------------------------


def test_files_and_pipes_get_nothing():
    bar = watched(terminal=False)
    KMeans(5, random_state=0, callback=bar).fit(ROWS)
    assert len(bar.frames) > 3
    assert bar.output == ""


def test_a_dumb_terminal_gets_nothing(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    bar = watched()
    KMeans(5, random_state=0, callback=bar).fit(ROWS)
    assert bar.output == ""


def test_a_worker_process_shows_nothing(monkeypatch):
    monkeypatch.setattr(surfaces, "is_worker", lambda: True)
    bar = watched()
    KMeans(5, random_state=0, callback=bar).fit(ROWS)
    assert bar.output == ""


def fit_in_worker(bar):
    return is_worker(), KMeans(3, random_state=0, callback=bar).fit(ROWS).inertia_


@pytest.mark.slow
def test_processes_of_joblib_are_workers():
    bar = partita.progress_bar(keep=True)
    here = fit_in_worker(bar)
    assert here[0] is False
    there = Parallel(n_jobs=2)(delayed(fit_in_worker)(bar) for _ in range(2))
    assert there == [(True, here[1])] * 2


def test_a_call_outside_a_watched_fit_does_nothing():
    assert partita.progress_bar(keep=True)(record(1)) is None


# --- what is left behind --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_exception_in_a_fit_removes_the_bar(error):
    class Failing(DrawnBar):
        def __call__(self, progress):
            super().__call__(progress)
            if progress.iteration == 3:
                raise error

    bar = Failing(SetClock(step=SLOW))
    with pytest.raises(error):
        KMeans(5, random_state=0, callback=bar).fit(ROWS)
    assert "KMeans ━" in bar.frames[1]
    assert bar.output.endswith(ERASE)
    assert bar.output.count(HIDE) == bar.output.count(SHOW) == 1
    KMeans(5, random_state=0, callback=bar.bar).fit(ROWS)  # and it can be used again


def test_bad_parameters_and_data_leave_no_bar():
    for model, X in ((KMeans(0), ROWS), (KMeans(3), ROWS * np.nan), (KMeans(500), ROWS)):
        bar = watched()
        with pytest.raises(ValueError, match=r"must|NaN|should"):
            model.set_params(callback=bar).fit(X)
        assert bar.screen._lines == ()
        assert bars._OPEN.tasks == []


class Slate(list):
    """A surface that keeps what is drawn; `tried` is set by the first drawing."""

    def __init__(self, error=None):
        super().__init__()
        self.error, self.tried = error, threading.Event()

    def draw(self, lines):
        self.append([line.name for line in lines])
        self.tried.set()
        if self.error is not None:
            raise self.error

    def close(self):
        self.append("closed")


def test_a_thread_draws_while_the_task_runs_and_has_closed_when_it_is_over():
    slate = Slate()
    bar = ProgressBar(screen=Screen(lambda: slate, SetClock(step=SLOW)))
    for _ in range(2):
        with bar.__partita_watch__(TASK):
            assert slate.tried.wait(60)
        assert slate[0] == ["KMeans"]
        assert slate[-1] == "closed"
        slate.clear()
        slate.tried.clear()


def test_a_terminal_that_went_away_does_not_end_the_fit():
    slate = Slate(BrokenPipeError())
    bar = ProgressBar(screen=Screen(lambda: slate, SetClock(step=SLOW)))
    with bar.__partita_watch__(TASK):
        assert slate.tried.wait(60)
    assert len(slate) == 1  # it is not tried again


def test_a_short_task_opens_nothing_and_the_thread_is_kept_for_the_next():
    opened = []
    screen = Screen(lambda: opened.append(1), SetClock())
    bar = ProgressBar(screen=screen)
    threads = set()
    for _ in range(20):
        with bar.__partita_watch__(TASK):
            threads.add(screen._thread)
    assert opened == []
    assert len(threads) == 1


def test_without_room_for_a_thread_the_fit_goes_on(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    bar = ProgressBar(screen=Screen(Slate, SetClock(step=SLOW)))
    monkeypatch.setattr(threading.Thread, "start", start)
    KMeans(3, n_threads=1, random_state=0, callback=bar).fit(ROWS)


def test_a_fork_while_something_is_drawn_leaves_a_usable_bar(monkeypatch):
    slate = Slate()
    bar = ProgressBar(screen=Screen(lambda: slate, SetClock(step=SLOW)))
    with bar.__partita_watch__(TASK):
        assert slate.tried.wait(60)
        holder = threading.Thread(target=bar.screen._changed.acquire)  # and never lets go
        holder.start()
        holder.join()
        slate.tried.clear()
        monkeypatch.setattr(os, "getpid", lambda: -1)  # as the child sees it
        with bar.__partita_watch__(TASK):
            assert slate.tried.wait(60)


def test_an_idle_thread_ends(monkeypatch):
    monkeypatch.setattr(screens, "MAX_IDLE_TICKS", 0)
    screen = Screen(Slate, SetClock())
    with ProgressBar(screen=screen).__partita_watch__(TASK):
        thread = screen._thread
    thread.join(60)
    assert not thread.is_alive()
    with ProgressBar(screen=screen).__partita_watch__(TASK):
        assert screen._thread is not thread


# --- one object for all ---------------------------------------------------------------------------


def test_copies_pickles_and_clones_are_as_good(tmp_path):
    bar = partita.progress_bar(keep=True)
    assert copy.deepcopy(bar) == bar == pickle.loads(pickle.dumps(bar)) == copy.copy(bar)
    assert hash(bar) == hash(partita.progress_bar(keep=True))
    assert bar != partita.progress_bar()
    assert bar != 3
    model = clone(KMeans(3, callback=bar))
    assert model.callback.keep
    assert "progress_bar(keep=True)" in repr(model)
    again = pickle.loads(pickle.dumps(model.fit(ROWS)))
    assert again.callback == bar
    drawn = watched()
    assert pickle.loads(pickle.dumps(drawn.bar)).screen is None
    save(model, tmp_path / "a.partita")
    assert load(tmp_path / "a.partita").callback is None


def test_one_bar_serves_fit_after_fit():
    bar = watched()
    model = KMeans(5, random_state=0, callback=bar)
    for _ in range(3):
        model.fit(ROWS)
    assert bar.output.count(HIDE) == bar.output.count(SHOW) == 3


def test_fits_in_several_threads_have_a_line_each():
    bar, both = watched(), threading.Barrier(2, timeout=60)
    frames = []

    def wait(progress):
        if progress.iteration == 2:
            both.wait()
            frames.append(progress)
            both.wait()

    def fit(k):
        def callback(progress):
            bar(progress)
            wait(progress)

        class Observer:
            __call__ = staticmethod(callback)
            __partita_watch__ = staticmethod(bar.__partita_watch__)
            __partita_run__ = staticmethod(bar.__partita_run__)

        return KMeans(k, random_state=0, n_threads=1, callback=Observer()).fit(ROWS).labels_

    labels = Parallel(n_jobs=2, backend="threading")(delayed(fit)(k) for k in (5, 7))
    assert [found.max() for found in labels] == [4, 6]
    assert len(frames) == 2
    assert any(len(frame.splitlines()) == 2 for frame in bar.frames)
    assert bar.output.endswith(ERASE)


def test_the_package_is_named_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(ImportError, match=r"needs rich: pip install 'partita\[progress\]'"):
        partita.progress_bar()


@pytest.mark.parametrize("keep", ["yes", None, 2])
def test_keep_is_a_truth_value(keep):
    with pytest.raises((TypeError, ValueError), match="`keep` must be True or False"):
        partita.progress_bar(keep=keep)


def test_verbose_prints_the_same_with_a_bar(capsys):
    KMeans(3, random_state=0, verbose=1).fit(ROWS)
    alone = capsys.readouterr().out
    KMeans(3, random_state=0, verbose=1, callback=watched()).fit(ROWS)
    assert capsys.readouterr().out == alone


# --- notebooks ------------------------------------------------------------------------------------


class Cell:
    """A cell of a notebook without widgets: what is displayed, in turn."""

    def __init__(self, monkeypatch):
        self.shown, names = [], count(1)
        cell = self

        class ZMQInteractiveShell:
            pass

        class Handle:
            def update(self, html):
                cell.shown.append(html)

        def display(html, display_id):
            assert display_id is True
            assert next(names) >= 1
            cell.shown.append(html)
            return Handle()

        module = types.ModuleType("IPython.display")
        module.HTML, module.display = str, display
        monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
        shell = ZMQInteractiveShell()
        monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)


def notebook_bar():
    bar = watched()
    make_surface = lambda: surface_on(surfaces.stderr_console)  # noqa: E731
    bar.screen = Screen(make_surface, bar.clock, drawn_by_thread=False)
    bar.bar = ProgressBar(screen=bar.screen)
    return bar


def test_a_notebook_shows_html_that_is_empty_at_the_end(monkeypatch, capsys):
    cell = Cell(monkeypatch)
    KMeans(5, n_init=2, random_state=0, callback=notebook_bar()).fit(ROWS)
    assert cell.shown[0] == cell.shown[-1] == ""
    assert any(
        html.startswith("<div>KMeans <progress></progress> ") and "iteration 2" in html
        for html in cell.shown
    )
    assert any('<progress value="0.' in html and "about " in html for html in cell.shown)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_that_cannot_display_shows_nothing(monkeypatch, capsys):
    Cell(monkeypatch)
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    KMeans(5, random_state=0, callback=notebook_bar()).fit(ROWS)
    assert capsys.readouterr() == ("", "")


def test_html_is_escaped():
    line = LineText("<b>", 0.25, "a & b")
    assert surfaces._html_of(line) == '&lt;b&gt; <progress value="0.2500"></progress> a &amp; b'
