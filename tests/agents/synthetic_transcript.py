"""SYNTHETIC transcripts: a made-up facility, answers written by hand; no model was ever asked.

Executor, tools and the writing of transcripts are the real ones. What is counted on the way is
counted here by hand, so that tests can compare.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from slowlab.agents.messages import Message, ModelCall, ModelReply, Role, Stage, Usage
from slowlab.agents.transcript import Transcript, fork
from slowlab.agents.transcript_format import TranscriptKind, call_payload
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.canonical import canonical_json
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import step
from tests.campaign.sessions import FakeStepping, fake_session
from tests.methods.contract_world import ARTIFACTS, PRICES, RULES, SENSORS, ContractFacility

POLICY = RULES.fixed_reference.model_dump()
HARVEST, CANOPY = "cumulative_harvest_fresh_equivalent", "canopy_lai_proxy"
PREDICT = "predict_crop_outcome"


class Scribe:
    """Plays one campaign by hand and writes its transcript.

    Args:
        path: the transcript.
        feedback: condition that is told by :meth:`assign`.
        prefix: transcript of the beginning that it goes on from, and who wrote it.
        header: changes of the header.

    Attributes:
        counted: what happened, counted by hand under the names of the table.
    """

    def __init__(self, path: Path, feedback: str = "full", **header: Any) -> None:
        self.path, self.feedback = path, Feedback(feedback)
        self.counted: Counter[str] = Counter()
        self.stage = Stage.INITIAL
        facility = ContractFacility(RULES, PRICES, grown=[[] for _ in range(4)])
        reference = RULES.fixed_reference
        executor = Executor.open(
            facility, RULES, SENSORS, PRICES, Feedback.UNASSIGNED, reference, stepping=step
        )
        self.session = fake_session(executor, FakeStepping(1))
        self.history = History(self.session.task())
        self.tools = Toolbox(self.history, ARTIFACTS, seed=7, limits=RULES.analysis_tools)
        about = {
            "kind": "campaign",
            "study": "synthetic",
            "partition": "synthetic",
            "site": 3,
            "method": "grower",
            "repeat": 1,
            "model": {"name": "stand-in-grower", "label": "Stand-in grower", "stand_in": "grower"},
            "harness": {"name": "digest_notes"},
            "generation_seed": 11,
            "task": self.session.task(),
        }
        self.transcript = Transcript.open(path, about | header)
        self.counted["records"] += 1

    def __enter__(self) -> Scribe:
        return self

    def __exit__(self, *_: object) -> None:
        self.transcript.close()

    def note(self, kind: TranscriptKind, payload: dict[str, Any]) -> None:
        """Write a record."""
        self.transcript.put(kind, payload)
        self.counted["records"] += 1

    def ask(
        self,
        answer: str,
        *,
        failed: tuple[str, ...] = (),
        usage: Usage | None = None,
        cost: float | None = 0.002,
        question: str | None = None,
        although: str | None = None,
    ) -> None:
        """One call with its failed attempts and its answer."""
        state = canonical_json({"stage": self.stage.value, "state": self.history.digest()})
        messages = (
            Message(Role.SYSTEM, "SYNTHETIC system message"),
            Message(Role.USER, state if question is None else question),
        )
        call = ModelCall(messages, max_output_tokens=2048, seed=11)
        self.note(TranscriptKind.CALL, call_payload(self.stage, call, self.transcript.texts))
        for number, fault in enumerate(failed, 1):
            self.note(TranscriptKind.ATTEMPT, {"number": number, "key": f"k{number}"})
            told = {"number": number, "fault": fault, "detail": "made up", "reply": None}
            unknown = {"cost_usd": None, "cost_source": "unknown"}
            self.note(TranscriptKind.FAILED_ATTEMPT, told | unknown)
        number = len(failed) + 1
        self.note(TranscriptKind.ATTEMPT, {"number": number, "key": f"k{number}"})
        used = Usage(prompt_tokens=500, completion_tokens=40) if usage is None else usage
        reply = ModelReply(answer, finish_reason="stop", served_model="made-up", usage=used)
        source = "unknown" if cost is None else "price_table"
        told = {"number": number, "reply": reply.payload(), "used_although": although}
        self.note(TranscriptKind.REPLY, told | {"cost_usd": cost, "cost_source": source})
        self.counted["model_calls"] += 1
        self.counted[f"calls_{self.stage}"] += 1
        self.counted["prompt_characters"] += call.characters
        self.counted["failed_attempts"] += len(failed)

    def act(self, action: dict[str, Any] | None, reason: str = "", **asked: Any) -> dict[str, Any]:
        """A campaign action of the model."""
        body = {"type": "campaign", "action": action, "reason": reason}
        self.ask(canonical_json(body), **asked)
        return self.exchange(action, reason)

    def exchange(self, action: dict[str, Any] | None, reason: str | None = None) -> dict[str, Any]:
        """A campaign action as it is carried out, asked for or not."""
        reply = self.session.dispatch(action if action is not None else "no action").payload()
        self.history.add(action, reply)
        told = {"action": action, "reply": reply, "reason": reason or None}
        self.note(TranscriptKind.EXCHANGE, told)
        return reply

    def use(self, name: str, reason: str = "", **arguments: Any) -> dict[str, Any]:
        """A tool call of the model."""
        self.ask(canonical_json({"type": "tool", "name": name, "args": arguments}))
        reply = self.tools(ToolCall(name, arguments)).payload()
        told = {"tool": name, "arguments": arguments, "reply": reply, "reason": reason or None}
        self.note(TranscriptKind.TOOL, told)
        return reply

    def garble(self, answer: str, **asked: Any) -> None:
        """An answer that cannot be used."""
        self.ask(answer, **asked)
        told = {"kind": "format_error", "code": "no_object", "message": "one JSON object is needed"}
        self.note(TranscriptKind.ERROR, told)
        self.counted["format_errors"] += 1

    def assign(self) -> None:
        """Tell the feedback condition; the season begins."""
        self.session.assign_feedback(self.feedback)
        task = self.session.task()
        self.history.assign(task)
        told = {"feedback": self.feedback.value, "task": task}
        self.note(TranscriptKind.ASSIGNMENT, told)
        self.stage = Stage.SEASON

    def advance(self, day: float, reason: str = "") -> dict[str, Any]:
        """Let time pass."""
        return self.act({"action": "advance", "day": day}, reason)

    def read(self, unit: int, *variables: str, resolution: str = "daily", **window: Any) -> None:
        """Read channels of a compartment, or its state where none is named."""
        for variable in variables:
            wanted = {"variable": variable, "resolution": resolution, **window}
            self.act({"action": "observe", "unit": unit, **wanted}, f"look at {variable}")
        if not variables:
            self.act({"action": "observe", "unit": unit}, "what came of it")

    def begin(self) -> None:
        """Recommendation before any experiment, then two crops and one refused."""
        self.ask(canonical_json({"type": "initial_recommendation", "policy": POLICY}))
        self.note(TranscriptKind.INITIAL, {"policy": POLICY, "attempts": 1})
        self.stage = Stage.DESIGN
        self.act({"action": "start", "unit": 0, "policy": POLICY}, "begin with what is known")
        warm = POLICY | {"day_temperature_c": 24.0}
        self.act({"action": "start", "unit": 1, "policy": warm}, "warmer", failed=("timed_out",))
        self.act({"action": "start", "unit": 1, "policy": warm}, "again")
        self.ask(canonical_json({"type": "design_complete"}))

    def finish(self) -> None:
        """Wait until the end, recommend, and end."""
        self.advance(365, "nothing more to learn")
        self.stage = Stage.FINAL
        self.act({"action": "recommend", "policy": POLICY}, "the best one")
        self.note(TranscriptKind.ENDING, {"ending": "recommended", "counts": {}})


def campaign(path: Path, feedback: str = "full", **header: Any) -> Counter[str]:
    """A whole campaign with a bit of everything; returns what was counted by hand."""
    with Scribe(path, feedback, **header) as scribe:
        scribe.begin()
        scribe.assign()
        scribe.garble("I would rather not say.")
        scribe.garble("Nor now.", failed=("rate_limited", "server_error"))
        scribe.advance(30, "let them grow")
        if feedback == "full":
            scribe.use(PREDICT, "too early: nothing was read", unit=0, run_index=1)
            scribe.read(0, HARVEST, CANOPY)
            scribe.use(PREDICT, "now it can be told", unit=0, run_index=1)
        scribe.note(TranscriptKind.INCUMBENT, {"policy": POLICY})
        scribe.note(TranscriptKind.FLAG, {"flag": "identical_errors", "detail": "2 in a row"})
        scribe.advance(182)
        scribe.read(0)
        scribe.read(1)
        scribe.act({"action": "start", "unit": 2, "policy": POLICY}, "once more")
        scribe.finish()
        return scribe.counted


def branches(folder: Path) -> dict[str, Path]:
    """A beginning and both branches that go on from it, as files."""
    paths = {name: folder / f"site-003.{name}.transcript.jsonl" for name in ("initial", "full")}
    paths["endpoint"] = folder / "site-003.endpoint.transcript.jsonl"
    with Scribe(paths["initial"]) as scribe:
        scribe.begin()
    for feedback in ("full", "endpoint"):
        fork(paths["initial"], paths[feedback])
        campaign(paths[feedback], feedback)
    return paths
