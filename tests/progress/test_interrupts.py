"""Ctrl-C during fits: the best so far is kept and valid, or KeyboardInterrupt leaves nothing."""

from __future__ import annotations

import signal
import threading
import warnings

import numpy as np
import pytest
from helpers.progress import ERASE, HIDE, MEMBERS, ROWS, SHOW, Pressing, SetClock, make

import partita
from partita import InterruptedFitWarning, KernelKMeans, KMeans, KMedoids, choose_k
from partita.engine.paths.scheduler import PassScheduler
from partita.estimators.fitted_models import capabilities_of
from partita.observers import RunStart, WatchedTask
from partita.progress.bars import ProgressBar
from partita.several_starts import fit_several_starts

SLOW = 0.4  # seconds that pass whenever the clock is read
KEPT = pytest.warns(InterruptedFitWarning, match="best so far: J = ")


def pressing(keep=True, **when):
    return Pressing(clock=SetClock(step=SLOW), keep=keep, **when)


@pytest.fixture(autouse=True)
def handler():
    """Check that Ctrl-C does after each test what it did before."""
    before = signal.getsignal(signal.SIGINT)
    yield before
    assert signal.getsignal(signal.SIGINT) is before


def costs(bar):
    return [record.cost for record in bar.heard if hasattr(record, "cost")]


# --- members --------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("name", MEMBERS)
def test_the_best_so_far_is_a_fitted_model(name, at):
    bar = pressing(at=at)
    with KEPT:
        model = make(name, callback=bar).fit(ROWS)
    assert model.stopped_by_.kind == "interrupt"
    assert model.stopped_by_.is_limit
    assert len(model.trace_) == at == bar.calls
    assert model.predict(ROWS).tolist() == model.labels_.tolist()
    labels, cost = capabilities_of(model).costs(ROWS)
    counts = labels >= 0  # trimmed rows have no cost
    assert cost[counts, labels[counts]].sum() == pytest.approx(model.inertia_)
    if name != "MiniBatchKMeans":  # whose trace has estimates
        assert model.inertia_ <= min(costs(bar)) * (1 + 1e-12)
    assert bar.output.endswith(ERASE)
    again = make(name, callback=bar).fit(ROWS)  # Ctrl-C is forgotten
    assert again.stopped_by_.kind != "interrupt"


@pytest.mark.parametrize("name", MEMBERS)
def test_an_interrupted_fit_is_the_beginning_of_the_whole(name):
    with KEPT:
        model = make(name, callback=pressing(at=2)).fit(ROWS)
    asked = make(name, callback=lambda progress: progress.iteration == 2).fit(ROWS)
    assert asked.stopped_by_.kind == "callback"
    assert model.labels_.tolist() == asked.labels_.tolist()
    assert model.inertia_ == asked.inertia_


@pytest.mark.parametrize("name", MEMBERS)
def test_a_second_ctrl_c_ends_at_once(name):
    bar = pressing(times=2)
    with pytest.raises(KeyboardInterrupt):
        make(name, callback=bar).fit(ROWS)
    assert bar.calls == 1
    assert bar.screen._lines == ()


@pytest.mark.parametrize("name", MEMBERS)
def test_without_keep_ctrl_c_ends_at_once_and_the_terminal_is_as_before(name):
    bar = pressing(keep=False, at=2)
    with pytest.raises(KeyboardInterrupt):
        make(name, callback=bar).fit(ROWS)
    assert bar.calls == 2
    assert bar.output.count(HIDE) == bar.output.count(SHOW) == 1
    assert bar.output.endswith(ERASE)


@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_within_a_pass_lets_it_end_first(monkeypatch, keep):
    usual, passes = PassScheduler.assign, []

    def assign(self, *arguments):
        passes.append(arguments)
        if len(passes) == 3:
            signal.raise_signal(signal.SIGINT)
        return usual(self, *arguments)

    monkeypatch.setattr(PassScheduler, "assign", assign)
    model = KMeans(5, random_state=0, callback=partita.progress_bar(keep=keep))
    if not keep:
        with pytest.raises(KeyboardInterrupt):
            model.fit(ROWS)
        assert len(passes) == 3
        return
    with KEPT:
        model.fit(ROWS)
    assert len(model.trace_) == 3
    assert model.stopped_by_.kind == "interrupt"


FIT = WatchedTask("fit", "KMeans")


def test_ctrl_c_before_the_first_run_ends_at_once():
    bar = pressing().bar
    with pytest.raises(KeyboardInterrupt), bar.__partita_watch__(FIT):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_after_the_last_record_is_not_lost():
    bar = pressing().bar
    complete = pytest.warns(InterruptedFitWarning, match="the fit was complete")
    with complete, bar.__partita_watch__(FIT):
        bar.__partita_run__(RunStart(1, 1))
        signal.raise_signal(signal.SIGINT)


# --- restarts, searches, sweeps, bounds -----------------------------------------------------------


@pytest.mark.parametrize("member", [KMeans, KernelKMeans, KMedoids])
def test_restarts_end_too_and_the_best_of_them_is_kept(member):
    whole = pressing(at=0)
    member(5, init="random", n_init=6, random_state=0, callback=whole).fit(ROWS)
    runs = [i for i, record in enumerate(r for r in whole.heard if hasattr(r, "cost"))
            if record.iteration == 1]  # fmt: skip
    bar = pressing(at=runs[2] + 1)
    with KEPT:
        model = member(5, init="random", n_init=6, random_state=0, callback=bar).fit(ROWS)
    assert bar.calls == runs[2] + 1  # in the third of six
    assert model.stopped_by_.kind == "interrupt"
    assert model.inertia_ <= min(costs(bar)) * (1 + 1e-12)
    assert model.predict(ROWS).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("member", [KMeans, KMedoids])
@pytest.mark.parametrize("quality", ["balanced", "best"])
def test_a_search_ends_with_the_best_so_far(member, quality):
    fast = pressing(at=0)
    member(6, random_state=0, callback=fast).fit(ROWS)
    bar = pressing(at=fast.calls + 3)
    with KEPT:
        model = member(6, quality=quality, random_state=0, callback=bar).fit(ROWS)
    assert model.stopped_by_.kind == "interrupt"
    assert len(model.search_) >= 1
    assert model.inertia_ <= min(costs(fast)) * (1 + 1e-12)
    assert model.predict(ROWS).tolist() == model.labels_.tolist()


def test_a_choice_of_medoids_ends_with_the_best_so_far():
    bar = pressing(at=3)
    with KEPT:
        model = KMedoids(k_range=(2, 6), random_state=0, callback=bar).fit(ROWS)
    assert model.stopped_by_.kind == "interrupt"
    assert model.predict(ROWS).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("at", [1, 12])
def test_several_starts_end_with_the_best_so_far_and_one_warning(at):
    whole, bar = pressing(at=0), pressing(at=at)
    fit_several_starts(KernelKMeans(5, random_state=0, callback=whole), ROWS)
    assert whole.calls > 12
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit_several_starts(KernelKMeans(5, random_state=0, callback=bar), ROWS)
    assert [one.category for one in caught] == [InterruptedFitWarning]
    assert caught[0].filename == __file__
    assert bar.calls == at
    assert model.stopped_by_.kind == "interrupt"
    assert model.inertia_ <= min(costs(bar)) * (1 + 1e-12)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("estimator", [KMeans(), KMedoids()])
def test_a_sweep_keeps_its_results_in_any_case(estimator, keep):
    bar = pressing(keep=keep, at=4)
    arguments = {"estimator": estimator, "random_state": 0, "criteria": ["silhouette"]}
    with pytest.warns(UserWarning, match="choose_k was interrupted after"):
        sweep = choose_k(ROWS[:80], range(2, 6), callback=bar, **arguments)
    assert not sweep.complete
    assert bar.calls == 4
    assert bar.output.endswith(ERASE)


@pytest.mark.parametrize("member", [KMeans, KMedoids])
def test_ctrl_c_in_a_fit_of_a_sweep_ends_the_sweep(member):
    whole, bar = pressing(at=0), pressing()
    # KMeans reports few clusters after all their fits: references fit more
    arguments = {"random_state": 0, "n_references": 2, "criteria": ["gap"]}
    choose_k(ROWS[:80], range(2, 6), estimator=member(callback=whole), **arguments)
    bar.at = whole.calls - 1
    with pytest.warns(UserWarning, match="choose_k was interrupted after"):
        sweep = choose_k(ROWS[:80], range(2, 6), estimator=member(callback=bar), **arguments)
    assert not sweep.complete
    assert bar.calls == bar.at


def test_ctrl_c_in_a_search_within_a_sweep_ends_the_sweep():
    calls, last = [], 0

    def press(progress):
        calls.append(progress)
        if len(calls) == last:
            signal.raise_signal(signal.SIGINT)

    search = KMedoids(quality="balanced", callback=press)  # it keeps its own best so far
    arguments = {"estimator": search, "random_state": 0, "criteria": ["silhouette"]}
    assert choose_k(ROWS[:30], range(2, 5), **arguments).complete
    last = len(calls) - 1
    calls.clear()
    with pytest.warns(UserWarning, match="choose_k was interrupted after"):
        sweep = choose_k(ROWS[:30], range(2, 5), **arguments)
    assert not sweep.complete
    assert len(calls) == last


@pytest.mark.parametrize("keep", [True, False])
def test_bounds_are_kept_in_any_case(keep):
    bar = pressing(keep=keep)
    certificate = partita.certify(ROWS, KMeans(3, random_state=0).fit(ROWS).labels_, callback=bar)
    assert len(certificate.history) == bar.calls == 1
    bar = pressing(keep=keep)
    result = partita.exact(ROWS[:60], 6, callback=bar, random_state=0)
    assert not result.is_proven
    assert bar.calls == 1


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_fit_goes_on_from_its_checkpoint(tmp_path, times):
    settings = {"init": "random", "n_init": 3, "random_state": 1, "tol": 0.0}
    path, whole = tmp_path / "state", KMeans(6, **settings).fit(ROWS)
    model = KMeans(6, **settings, callback=pressing(at=17, times=times))
    with KEPT if times == 1 else pytest.raises(KeyboardInterrupt):
        model.fit(ROWS, checkpoint=path)
    resumed = KMeans(6, **settings).fit(ROWS, resume=path)
    assert resumed.labels_.tobytes() == whole.labels_.tobytes()
    assert resumed.inertia_ == whole.inertia_
    assert resumed.n_iter_ == whole.n_iter_


def test_partitions_end_with_the_best_so_far():
    da = pytest.importorskip("dask.array")
    bar = pressing(at=3)
    with KEPT:
        model = KMeans(5, random_state=0, callback=bar).fit(da.from_array(ROWS, chunks=(100, 3)))
    assert len(model.trace_) == 3
    with KEPT:
        held = KMeans(5, random_state=0, callback=pressing(at=3)).fit(ROWS)
    assert model.inertia_ == held.inertia_


# --- the signal -----------------------------------------------------------------------------------


def test_another_thread_is_told_that_it_cannot_keep_its_result():
    found = []

    def fit():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bar = partita.progress_bar(keep=True)
            found.append(KMeans(3, random_state=0, n_threads=1, callback=bar).fit(ROWS))
            found.extend(caught)

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    model, warning = found
    assert "the main one" in str(warning.message)
    assert warning.category is RuntimeWarning
    assert model.labels_.tolist() == KMeans(3, random_state=0).fit(ROWS).labels_.tolist()


def test_a_process_that_ignores_ctrl_c_goes_on_to():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model = KMeans(5, random_state=0, callback=pressing(times=3)).fit(ROWS)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert not model.stopped_by_.is_limit


def test_the_second_ctrl_c_goes_to_the_handler_of_the_program():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("program"))
    try:
        with pytest.raises(KeyboardInterrupt):
            KMeans(5, random_state=0, callback=pressing(times=2)).fit(ROWS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["program"]


def test_the_line_says_that_the_fit_is_stopping():
    bar = pressing(at=2)
    with KEPT:
        KMeans(5, random_state=0, callback=bar).fit(ROWS)
    assert "stopping after this iteration (Ctrl-C again: at once)" in bar.frames[1]
    assert "stopping" not in bar.frames[0]


def test_the_warning_points_at_the_line_of_the_user():
    with KEPT as caught:
        KMeans(5, random_state=0, callback=pressing()).fit(ROWS)
    assert [one.filename for one in caught] == [__file__]
    assert issubclass(InterruptedFitWarning, UserWarning)
    assert partita.InterruptedFitWarning is InterruptedFitWarning


def test_a_bar_within_a_bar_catches_ctrl_c_once():
    bar = ProgressBar(keep=True)

    def fit_another(progress):
        if progress.iteration == 1:
            KMeans(3, random_state=0, callback=bar).fit(ROWS)
        elif progress.iteration == 2:
            signal.raise_signal(signal.SIGINT)
        return bar(progress)

    class Outer:
        __call__ = staticmethod(fit_another)
        __partita_watch__ = staticmethod(bar.__partita_watch__)
        __partita_run__ = staticmethod(bar.__partita_run__)

    with KEPT:
        model = KMeans(5, random_state=0, callback=Outer()).fit(ROWS)
    assert len(model.trace_) == 2
    assert np.isfinite(model.inertia_)
