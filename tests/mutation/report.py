"""What became of the mutants: scores, survivors and the reasons for those that stay."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .mutant import Mutant

HERE = Path(__file__).parent
REASONS = HERE / "survivors.json"
# Mutants of this kind are left out of the mutation score, as is usual: no result differs.
EQUIVALENT = "equivalent"


@dataclass(frozen=True)
class Outcome:
    """What a mutant came to: how it was noticed ('' if it was not) and by which test."""

    mutant: Mutant
    how: str
    test: str
    seconds: float


@dataclass(frozen=True)
class Reason:
    """Why a survivor stays: "equivalent", "speed" or "other", and a sentence."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class Score:
    """Mutants of a part, killed and not."""

    part: str
    outcomes: list[Outcome]
    reasons: dict[tuple[str, str, str], Reason]

    @property
    def killed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.how]

    @property
    def survivors(self) -> list[Mutant]:
        return [outcome.mutant for outcome in self.outcomes if not outcome.how]

    @property
    def equivalent(self) -> list[Mutant]:
        kinds = {key: reason.kind for key, reason in self.reasons.items()}
        return [mutant for mutant in self.survivors if kinds.get(mutant.key) == EQUIVALENT]

    @property
    def unexplained(self) -> list[Mutant]:
        return [mutant for mutant in self.survivors if mutant.key not in self.reasons]

    @property
    def strict(self) -> float:
        return len(self.killed) / len(self.outcomes) if self.outcomes else 1.0

    @property
    def counted(self) -> float:
        """The score without equivalent mutants."""
        n = len(self.outcomes) - len(self.equivalent)
        return len(self.killed) / n if n else 1.0

    def line(self, *, all_mutants: bool = False) -> str:
        """Name the part, its score and the numbers behind it."""
        n = len(self.outcomes) - (0 if all_mutants else len(self.equivalent))
        score = self.strict if all_mutants else self.counted
        return f"{self.part} {score:.2f} ({len(self.killed)} of {n})"


def read_reasons(path: Path = REASONS) -> dict[tuple[str, str, str], Reason]:
    entries = json.loads(path.read_text())
    return {
        (entry["file"], entry["text"], entry["what"]): Reason(entry["kind"], entry["reason"])
        for entry in entries
    }


def summary(scores: list[Score]) -> str:
    """List survivors with their reasons; the last line has the scores."""
    lines = []
    for score in scores:
        lines.append(f"\n{score.part}: {len(score.survivors)} survivors")
        for mutant in score.survivors:
            reason = score.reasons.get(mutant.key)
            told = f"{reason.kind}: {reason.sentence}" if reason else "NO REASON YET"
            lines.append(f"  {mutant}\n    -> {told}")
        hows = Counter(outcome.how.split(" ")[0] for outcome in score.killed)
        lines.append(f"  {', '.join(f'{n} {how}' for how, n in hows.most_common())}")
        lines.append(f"  {len(score.equivalent)} survivors change no result")
        lines.append(f"  {len(score.unexplained)} survivors have no reason yet")
    whole = ", ".join(score.line(all_mutants=True) for score in scores)
    counted = ", ".join(score.line() for score in scores)
    return "\n".join([*lines, f"of all mutants: {whole}", f"mutation score: {counted}"])


def results(scores: list[Score], how: dict[str, Any]) -> dict[str, Any]:
    return {
        **how,
        "parts": {
            score.part: {
                "mutants": len(score.outcomes),
                "killed": len(score.killed),
                "score": round(score.strict, 4),
                "equivalent": len(score.equivalent),
                "score_without_equivalent": round(score.counted, 4),
                "unexplained": len(score.unexplained),
                "survivors": [mutant.to_dict() for mutant in score.survivors],
            }
            for score in scores
        },
    }
