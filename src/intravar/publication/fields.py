"""Every field that is published, and what keeps it from telling on somebody.

A file's fields are written as paths: `rule.tree[].when` is the entry `when` of every leaf. A test
holds this list against the files, and docs/privacy.md against this list; a field that is not here
must not be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from intravar.measurement.columns import COLUMNS

_ASKED = "what the user asked for"
_SHOWN = "of the physicians whose scores are shown"
_COLUMN_RULES = {
    "always": "hidden with a small panel or small counts behind the score",
    "reportable": "hidden unless reportable; rounded",
    "rates": "hidden unless reportable, and where it would tell a small count; rounded",
    "others": "hidden unless reportable, and where those who are not eligible are few; rounded",
    "repeats": "hidden where few cases seen twice were decided alike, or not; rounded",
}
PHYSICIANS = {
    "physician": "a pseudonym under a secret key, unless names were asked for; rows in its order",
    **{column.name: _COLUMN_RULES[column.shown] for column in COLUMNS[1:]},
    "band": "one of two that overlap; a secret decides between them",
}
METHODS = {
    "method": _ASKED,
    "physician": PHYSICIANS["physician"],
    "score": PHYSICIANS["discordance"],
    "scale": "what the method measures",
    "n_pairs": PHYSICIANS["n_pairs"],
    "reason": PHYSICIANS["reason"],
}
_STRATUM = (
    "all strata of a physician or none: none where one has few decided one way, where few have no "
    "stratum or the panel's size is hidden"
)
_CHANGED = "of physicians whose strata are shown, and from them alone; rounded"
_LEVELS = (
    "over all physicians, two digits, or what two dozen patients move where somebody's are hidden; "
    "those with few decided one way are left out"
)
STRATA = {
    "dealt_by": _ASKED,
    "physician": PHYSICIANS["physician"],
    "stratum": "a value of a column, or a period",
    **dict.fromkeys(("n_patients", "discordance", "low", "high"), _STRATUM),
}
CHANGES = {
    "dealt_by": _ASKED,
    "physician": PHYSICIANS["physician"],
    **dict.fromkeys(("change", "low", "high", "shrunken", "probability"), _CHANGED),
}
SUMMARY = {
    "what": "a fixed word",
    "verdict": "one of five words",
    "verdict_reasons[]": "over all physicians, two digits",
    "version": "of intravar",
    "source": "name of the file, or the address without a password",
    "request.*": _ASKED,
    "method": _ASKED,
    "group": "missing where nobody has a score",
    "group.*": "from shown scores and bands, two digits; of small panels one rounded number",
    "group.differences": "one of three words, over all physicians",
    "group.matters": _ASKED,
    "group.needed": "a number of patients, two digits",
    "group.explained": "missing for methods that do not predict",
    "group.explained.*": "over all patients, rounded to what two dozen of them move",
    "group.noise.*": "over all patients, rounded to what two dozen of them move",
    "group.repeats.*": "over all physicians, two digits",
    "unrecorded": "missing where it was not looked at",
    "unrecorded.words": "the same in words",
    "unrecorded.reasons[].covariate": "name of a column",
    "unrecorded.reasons[].without": "in proportion to the group's figure, two digits",
    "unrecorded.reasons[].lowered": "in proportion to the group's figure, two digits",
    "unrecorded.n_tried": "a number of columns",
    "by": "missing where it was not asked for",
    "by.*": _LEVELS,
    "course": "missing where it was not asked for",
    "course.*": _LEVELS,
    "n_physicians": "all physicians",
    "n_reportable": "counted in the table",
    "n_ranked": "counted in the table",
    "n_banded": "counted in the table",
    "banded": "the table in words",
    "n_patients_shown": "sum of the panel sizes that are shown",
    "n_physicians_partly_hidden": "how many, not who",
    "median_discordance": "of shown scores and middles of bands, two digits",
    "claim": "fixed words of the method",
    "compared": "fixed words of the method",
    "lines.*": "the table in words",
    "leaks[].column": "name of a column",
    "leaks[].why": "two digits at the most",
    "rule.auc": "three digits, over patients held out",
    "rule.importance[].covariate": "name of a column",
    "rule.importance[].importance": "three digits, over patients held out",
    "rule.dependence[].covariate": "name of a column",
    "rule.dependence[].value": "mean of as many patients as the smallest count, three digits",
    "rule.dependence[].share": "mean prediction over a sample, three digits",
    "rule.tree[].when": "cuts between groups of 30 patients or more",
    "rule.tree[].about_n_patients": "two digits",
    "rule.tree[].share": "two digits; hidden where few were decided one way",
    "rule.tree[].words": "the same in words",
    "own_rules[].physician": PHYSICIANS["physician"],
    "own_rules[].covariate": "name of a column",
    "own_rules[].how": "one of five words; left out unless reportable, and where the covariate "
    "tells few patients of the panel apart",
    "warnings[]": "fixed words of the methods",
    "seconds.*": "whole seconds",
}
CHECKS = {
    "source": SUMMARY["source"],
    "read_with[]": "what was found out while reading",
    "n_patients": "sum of the panel sizes that are shown",
    "n_physicians": "all physicians",
    "n_physicians_with_few_patients": "how many, not who",
    "n_physicians_measurable": "how many, not who",
    "min_panel": _ASKED,
    "smallest_cell": _ASKED,
    "decision.*": "name and values of a column",
    "decision_share": f"two digits, {_SHOWN}",
    "covariates[]": "name of a column",
    "columns[].column": "name of a column",
    "columns[].use": "one of a few words",
    "columns[].kind": "one of a few words",
    "columns[].missing": "a range where it, or the rest, is small",
    "columns[].distinct": "100 at the most",
    "columns[].note": "what was done to the column; no count below the smallest",
    "missing_policy": _ASKED,
    "missing": "'some' where a part of it is small",
    "dropped[]": "a range where it is small",
    "leaks[].column": "name of a column",
    "leaks[].why": "two digits at the most",
    "method": _ASKED,
    "estimated_seconds": "follows from rounded sizes",
    "estimated_memory_mb": "follows from rounded sizes",
}
DIAGNOSTICS = {
    "love[].covariate": "name of a column",
    "love[].within_pairs": f"three digits, {_SHOWN}",
    "love[].at_random": "three digits, over covariates alone",
    "distances[].from": "edge of a bin",
    "distances[].to": "edge of a bin",
    "distances[].share": "bins merged until none is small",
    "attrition[].physician": PHYSICIANS["physician"],
    "attrition[].*": "left out with the physician where a part of the panel is small",
    "sweep[].*": "steps that set few pairs apart are left out; two digits",
    "agreement[].method": _ASKED,
    "agreement[].other": _ASKED,
    "agreement[].spearman": f"two digits, {_SHOWN}",
    "balance[].covariate": "name of a column",
    "balance[].between_physicians": "three digits, over covariates alone",
    "overlap[].physician": PHYSICIANS["physician"],
    "overlap[].overlap": "two digits, of panels whose size is shown",
    "calibration[].*": "bins with few or nearly all are left out; three digits",
    "split_half_reliability": f"three digits, {_SHOWN}",
    "anchor_mass": "missing where no rule was found",
    "anchor_mass.*": "two digits, over all patients",
}
_JOINT = "hidden where few patients got a combination of decisions, or unless reportable; rounded"
JOINT = {
    "physician": PHYSICIANS["physician"],
    **dict.fromkeys(("differ", "differ_low", "differ_high", "differ_apart"), _JOINT),
    **dict.fromkeys(("n_differences", "n_differences_low", "n_differences_high"), _JOINT),
    "band": "follows from what the folders of the decisions tell",
    "reportable": "whether the figures are shown",
    "reason": "fixed words",
}
_AS_ALONE = "as in the folder of the decision"
DECISIONS = {
    "physician": PHYSICIANS["physician"],
    "decision": "name of a column",
    **dict.fromkeys(("n_patients", "discordance", "low", "high", "band", "reportable"), _AS_ALONE),
    "across": "hidden unless reportable in this decision; rounded",
    "given": _JOINT,
}
PAIRS = {
    "physician": PHYSICIANS["physician"],
    **dict.fromkeys(("first", "second"), "name of a column"),
    **dict.fromkeys(("correlation", "low", "high"), f"{_JOINT} to 0.05"),
}
_OVER_ALL = "over all patients, rounded to what two dozen of them move"
SEVERAL = {
    "what": "a fixed word",
    "version": "of intravar",
    "source": SUMMARY["source"],
    "request.*": _ASKED,
    "decisions[]": "name of a column",
    "folders.*": "name of a folder",
    "verdicts.*": "one of five words",
    "n_physicians": "all physicians",
    "n_reportable": "counted in the table",
    "n_banded": "counted in the table",
    **dict.fromkeys(("differ", "differ_low", "differ_high", "differ_apart"), _OVER_ALL),
    **dict.fromkeys(("n_differences", "n_differences_low", "n_differences_high"), _OVER_ALL),
    "by_decision[].decision": "name of a column",
    **dict.fromkeys(("by_decision[].discordance", "by_decision[].given"), _OVER_ALL),
    "pairs[].first": "name of a column",
    "pairs[].second": "name of a column",
    **dict.fromkeys(
        ("pairs[].together", "pairs[].expected"),
        "hidden where few got both; rounded to what two dozen patients move",
    ),
    **dict.fromkeys(
        ("pairs[].correlation", "pairs[].low", "pairs[].high"),
        _OVER_ALL,
    ),
    "pairs[].steadiness": "over all physicians, one digit",
}
FIELDS: dict[str, Mapping[str, str]] = {
    "physicians": PHYSICIANS,
    "methods": METHODS,
    "strata": STRATA,
    "changes": CHANGES,
    "summary.json": SUMMARY,
    "checks.json": CHECKS,
    "diagnostics.json": DIAGNOSTICS,
    "joint": JOINT,
    "decisions": DECISIONS,
    "pairs": PAIRS,
    "several.json": SEVERAL,
}


def paths(content: Any, so_far: str = "") -> Iterator[str]:
    """Return the path of every value.

    Examples
    --------
    >>> sorted(paths({"a": [{"b": 1}, {"b": 2}], "c": 3}))
    ['a[].b', 'a[].b', 'c']
    """
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from paths(value, f"{so_far}.{name}" if so_far else str(name))
    elif isinstance(content, list):
        for value in content:
            yield from paths(value, f"{so_far}[]")
    else:
        yield so_far


def rule_of(file: str, path: str) -> str | None:
    """Return what makes a field safe; None for a field that is not known."""
    known = FIELDS[file]
    if path in known:
        return known[path]
    for end in range(len(path), 0, -1):
        if path[end - 1] == "." and f"{path[:end]}*" in known:
            return known[f"{path[:end]}*"]
    return None
