"""Kept cases as tables and figures; computes nothing that is not counted here."""
import collections
import pathlib
import re
import statistics
import subprocess
import time

import ablation
import case as cases
import judge
import recording
import scenes
import score
import victims

OTHERS = re.compile(rf", /(?!{score.STAGE})[^,: ]+")  # a control group that is not the lab's
FIGURE = pathlib.Path(__file__).parent.parent / "bench/figure"
DEFAULT = "blame"  # whose figures have no suffix
RESOURCES = ("cpu", "memory", "io", "handles", "faults", "threads", "network", "delay", "other")
ROUNDED = 0.005  # 99.5 % is printed as 100 %
SURE = 0.9  # a confidence that must be kept
BINS = ((0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.0))  # of stated confidence


def chosen(work, names):
    return [case for case in cases.read_all(work) if not names or names & {case["scenario"], case["group"], case["case"]}]


def tell_played(work, names, each):
    """What was said at the press."""
    played = chosen(work, names)
    print("\n".join(as_played(played)))
    for case in played if each else ():
        for how, said in case.get("live", {}).items():
            verdict = ("right" if said["process"] else "WRONG") + (", after one of another program" if said["passed_over"] else "")
            print(f"{case['background']} {case['case']} {how}: {verdict}: {said['first'] or '-'} | {said['cause'] or '-'} {said['confidence'] or 0:.2f} | "
                  f"{said['answer']['summary']}")
        for victim in case.get("victims", ()):
            print(f"    {victim['name']} {1000 * victim['usually']:.0f} -> {1000 * victim['slow']:.0f} ms: {victim['said']['summary'] if victim['said'] else 'no answer'}")


def tell(whyslow, work, names=(), models=tuple(judge.MODELS), each=False, calm=True, output=None, answers=None):
    """Asks again and prints; with output writes the tables there instead."""
    played = chosen(work, names)
    if not played:
        raise SystemExit("no cases are kept: play some ('make lab')")
    begin = time.monotonic()
    judged = judge.judge_all(whyslow, played, models)
    quiet = judge.judge_calm(whyslow, judge.calm_moments(whyslow, work), models, judged[0]["truth"]["recorder"]) if calm else {}
    if each:
        for case in judged:
            print_judged(case)
    text = "\n".join(lines(judged, quiet, output or "FILE"))
    if output:
        pathlib.Path(output).write_text(text)
    else:
        print(text)
    if answers:
        write_answers(whyslow, judged, answers,
                      " ".join(["lab/tables BUILD", *sorted(names), "--answers", answers]))
    print_figures(judged, quiet)
    print(f"{len(judged)} cases and {sum(map(len, quiet.values()))} calm answers judged in {time.monotonic() - begin:.0f} s", flush=True)


def print_played(case):
    print(f"{day(case)} {case['case']}: {case['what'].splitlines()[0]}\n  guilty: {', '.join(case['culprits']) or case['truth']['guilty']}; pressed "
          f"after {case['seconds_until_press']} s; the editor was {case['late_ms']} ms late (usually {case['late_ms_usually']} ms); "
          + "; ".join(f"top by {column}: {first[0][1]}" for column, first in case["tops"].items()), flush=True)


def print_judged(case):
    print_played(case)
    for name, answer in case["answers"].items():
        mark = "right" if answer["process"] else "2nd  " if answer["of_two"] else "  -  " if answer["process"] is None else "wrong"
        line = f"  {mark} {name:14} {answer['first']}"
        if answer.get("cause_strict") is False and answer["words"]:
            line += " (cause tolerable, not the primary one)"
        if "bottleneck" in answer:
            line += f", {answer['feature_named']}{' (not a right feature)' if answer['feature'] is False else ''}"
            line += f"; bottleneck {answer['bottleneck']}, cause {answer['cause']}{' (not a right one)' if answer['words'] is False else ''}"
        if answer.get("accused"):
            line += f"; ACCUSED INNOCENTS: {', '.join(answer['accused'])}"
        print(line, flush=True)


def answerers(judged):
    return list(dict.fromkeys(name for case in judged for name in case["answers"]))


def models_of(judged):
    return [name for name in answerers(judged) if name not in judge.BARE and not name.startswith("top by ")]


def counts(judged, answerer, measure):
    """Hits, and the cases in which this answerer says such a thing at all (`top` names no features)."""
    said = [case["answers"][answerer].get(measure) for case in judged if answerer in case["answers"]]
    said = [bool(value) for value in said if value is not None]
    return sum(said), len(said)


def lines(judged, quiet, output="FILE"):
    yield from heading(judged, output)
    yield from table_1(judged)
    yield from by_background(judged)
    yield from as_played(judged)
    yield from per_kind(judged)
    yield from table_2(judged)
    yield from table_3(judged)
    yield from accusations(judged, quiet)
    yield from calibration(judged)
    yield from by_ablation(judged)
    yield from missed(judged)


def heading(judged, output):
    kinds = {case["scenario"] for case in judged}
    felt = [case for case in judged if case["late_ms"] and case["late_ms_usually"] and case["late_ms"] > 2 * case["late_ms_usually"]]
    yield "# What the lab measured\n"
    yield f"Written by `lab/tables BUILD --output {output}` from the kept cases ([how the lab works](lab.md)); not by hand.\n"
    for machine, n in collections.Counter(case["machine"] for case in judged).items():
        yield f"- Machine: {machine} ({n} cases)."
    yield "- Backgrounds: " + ", ".join(f"{n} of {name}" for name, n in collections.Counter(case["background"] for case in judged).items()) + "."
    yield f"- {len(judged)} cases of {len(kinds)} kinds; played {day(judged[0])} to {day(judged[-1])} (UTC)."
    yield f"- In {len(felt)} the editor was more than twice as late as in the calm before; not every kind slows it down."
    passed = {name: counts(judged, name, "passed_over")[0] for name in models_of(judged)}
    strangers = sorted(case["strangers_cpus"] for case in judged)
    yield (f"- Other programs ran on the machine ({strangers[len(strangers) // 2]:.2f} CPUs' worth in the median case, {strangers[-1]:.2f} at most). Where one of them was named first it is passed over, because the lab does not know whether it was a bystander: "
           + ", ".join(f"{n} times with {name}" for name, n in passed.items()) + ".")
    yield "- Shares come with 95 % Wilson intervals. `top` cannot say that no program is to blame: those cases are not counted for it.\n"


def day(case):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(case["pressed"]))


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*cells):
    return [row(*cells), "|" + "---|" * len(cells)]


def table_1(judged):
    yield "## Who did it (the paper's Table 1)\n"
    yield from head("", "first named is right", "one of the first two", "unclear: no program named")
    for name in answerers(judged):
        unclear = score.proportion(*counts(judged, name, "unclear")) if name in models_of(judged) else "-"
        yield row(name, score.proportion(*counts(judged, name, "process")), score.proportion(*counts(judged, name, "of_two")), unclear)
    yield row("*the paper*", "26/31 84 %", "28/31 90 %", "3/31 6 %")
    yield ""


def by_background(judged):
    backgrounds = list(dict.fromkeys(case["background"] for case in judged))
    yield "## By background: first named is right\n"
    yield from head("", *backgrounds)
    for name in answerers(judged):
        yield row(name, *(score.proportion(*counts([case for case in judged if case["background"] == background], name, "process"))
                          for background in backgrounds))
    yield ""


def live_counts(played, how, measure):
    said = [case["live"][how][measure] for case in played]
    return sum(map(bool, said)), len(said)


def as_played(cases):
    """What was said when the cases were played, without a mark and with one, and of the victims that timed their requests."""
    played = [case for case in cases if case.get("live")]
    yield "## When they were played: first named is right, and who was harmed\n"
    yield from head("background", "without a mark", "with a mark", "only without", "harmed victims listed, without", "with", "`why VICTIM` finds nothing")
    for name in [*dict.fromkeys(case["background"] for case in played), None]:
        of = [case for case in played if name in (None, case["background"])]
        harmed = [victim for case in of for victim in case["victims"] if victims.is_harmed(victim)]
        listed = {how: [sum(case["live"][how]["harmed"][i] for case in of) for i in (0, 1)] for how in ("unmarked", "marked")}
        worse = [case["case"] for case in of if case["live"]["unmarked"]["process"] and not case["live"]["marked"]["process"]]
        yield row(name or "all", *(score.proportion(*live_counts(of, how, "process")) for how in ("unmarked", "marked")), ", ".join(worse) or "-",
                  *(score.proportion(*listed[how]) for how in ("unmarked", "marked")), score.proportion(sum(map(victims.finds_nothing, harmed)), len(harmed)))
    yield ""


def by_ablation(judged):
    """The truth that no model takes part in: what falls when the culprit is ended and all else goes on."""
    cut = [case for case in judged if (case["ablation"] or {}).get("ended")]
    yield "## What goes away with the culprit\n"
    yield (f"In {len(cut)} cases the culprit was ended after the press, and all else continued: what the bystanders wait for (seconds a second, all "
           "threads added up), what of the added waiting went away with the culprit (with its standard error, by the counters of each second; "
           "\"-\" where hardly anything was waited for, or strangers worked more in one phase than in another), and the resource whose pressure fell most.\n")
    if cut:
        yield from head("case", "background", "calm", "slow", "ended", "culprit's share", f"{DEFAULT} says", "pressure that fell most", "declared")
    for case in cut:
        told = (f"{case['ablation'][phase]['cpu']:.2f} + {case['ablation'][phase]['io']:.2f}" for phase in ("calm", "slow", "ended"))
        gone, said = case["gone"], explained_by(case)
        yield row(case["case"], case["background"], *told, f"{100 * gone.share:.0f} % (+- {100 * gone.error:.0f})" if gone else "-",
                  f"{100 * said[0]:.0f} % ({100 * said[1]:.0f}-{100 * said[2]:.0f})" if said else "-",
                  ablation.short_of(case["ablation"]) or "-", case["resource"])
    yield ""
    yield from attribution(cut)


def explained_by(case):
    return case["answers"].get(DEFAULT, {}).get("explains")


def attribution(cut):
    """How far what the model says lies from what went away, where that is known."""
    both = [(case["gone"], said) for case in cut if case["gone"] and case["gone"].known() and (said := explained_by(case))]
    if both:
        errors = [abs(gone.share - said[0]) for gone, said in both]
        held = sum(said[1] <= gone.share <= said[2] + ROUNDED for gone, said in both)
        yield (f"What went away is known within {100 * ablation.KNOWN:.0f} points (standard error) in {len(both)} cases for which {DEFAULT} states a share. "
               f"It is off by {100 * statistics.median(errors):.0f} points in the median; its interval "
               f"holds what went away in {score.proportion(held, len(both))}.\n")


def per_kind(judged):
    columns = answerers(judged)
    yield "## By kind: first named is right\n"
    yield from head("kind", *columns)
    for kind in sorted({case["scenario"] for case in judged}):
        of_kind = [case for case in judged if case["scenario"] == kind]
        yield row(kind, *(score.proportion(*counts(of_kind, name, "process")) for name in columns))
    yield ""


def table_2(judged):
    yield "## Which feature (the paper's Table 2): of those named rightly\n"
    yield from head("", "first feature is of the resource that is truly short", "tolerable (the scenario's `FEATURES`)")
    for name in models_of(judged):
        yield row(name, *(score.proportion(*counts(judged, name, measure)) for measure in ("feature_strict", "feature")))
    yield row("*the paper*", "25/26 96 %", "")
    yield ""
    yield "## Which cause: of those named rightly\n"
    yield from head("", "the primary one (`CAUSE`)", "or a tolerable one (`TOLERABLE`)")
    for name in models_of(judged):
        yield row(name, *(score.proportion(*counts(judged, name, measure)) for measure in ("cause_strict", "words")))
    yield ""
    wrong = [f"{case['case']} ({case['background']}: {said['cause']})" for case in judged if (said := case["answers"].get(DEFAULT)) and said["cause_strict"] is False]
    yield f"Of {DEFAULT}, not the primary cause: {', '.join(wrong) or 'none'}.\n"
    yield ""


def table_3(judged):
    """Of what resource the first feature of rightly named culprits is, and which others are among its features."""
    yield "## Which resource (the paper's Table 3)\n"
    yield "What the scenarios were made to be short of, and of which resource the features of rightly named culprits are.\n"
    yield from head("", *RESOURCES)
    made = collections.Counter(case["resource"] for case in judged)
    yield row("played", *(made[resource] for resource in RESOURCES))
    for name in models_of(judged):
        right = [case["answers"][name]["resources"] for case in judged if name in case["answers"] and case["answers"][name]["process"]]
        right = [resources for resources in right if resources]
        first = collections.Counter(resources[0] for resources in right)
        among = collections.Counter(resource for resources in right for resource in resources)
        yield row(f"{name}: first", *(f"{first[resource]}/{len(right)}" for resource in RESOURCES))
        yield row(f"{name}: among them", *(f"{among[resource]}/{len(right)}" for resource in RESOURCES))
    yield row("*the paper: first*", "8/25", "4/25", "11/25", "1/25", "1/25", "0/25", "-", "-", "-")
    yield ""


def accusations(judged, quiet):
    yield "## Bystanders named\n"
    yield ("A bystander counts as falsely named when it comes first, or has a third of the first one's score (for models whose scores are "
           "proportions); at a calm moment, when any program is named.\n")
    yield from head("", "cases with a bystander named", "calm moments with a program named")
    for name in models_of(judged):
        yield row(name, score.proportion(*counts(judged, name, "accused")), score.proportion(*calm_counts(quiet, name)))
    yield ""
    for name, moments in quiet.items():
        blamed = collections.Counter(who for _, _, who in moments if who)
        if blamed:
            yield f"Named at calm moments by {name}: " + ", ".join(f"{who} ({n})" for who, n in blamed.most_common(8)) + ".\n"


def calm_counts(quiet, name):
    said = [who for _, _, who in quiet.get(name, ())]
    return sum(who is not None for who in said), len(said)


def calibration(judged):
    yield "## Is the stated confidence true?\n"
    stated = {name: [case["answers"][name] for case in judged if case["answers"].get(name, {}).get("confidence") is not None]
              for name in models_of(judged)}
    yield from head("confidence stated", *(name for name in stated))
    for low, high in BINS:
        def share(answers, low=low, high=high):
            inside = [a["process"] for a in answers if low <= a["confidence"] < high or (high == 1.0 and a["confidence"] == 1.0)]
            return score.proportion(sum(inside), len(inside))
        yield row(f"{low} to {high}", *(share(answers) for answers in stated.values()))
    yield ""


def missed(judged):
    """For each model what its errors are, the cases in which it was wrong, and whom it named instead."""
    yield "## Wrong answers\n"
    errors = {name: collections.Counter(case["answers"][name]["error"] for case in judged if name in case["answers"]) for name in models_of(judged)}
    kinds = sorted({error for counted in errors.values() for error in counted if error})
    yield from head("", "wrong", *kinds)
    for name, counted in errors.items():
        yield row(name, sum(n for error, n in counted.items() if error), *(counted[error] for error in kinds))
    yield ""
    for name in models_of(judged):
        wrong = [case for case in judged if name in case["answers"] and not case["answers"][name]["process"]]
        yield f"{name}: " + (", ".join(f"{case['case']} (named {case['answers'][name]['first'] or 'no program'})" for case in wrong) or "none") + ".\n"


def verdict(answer):
    """In the words of the overview of printed answers."""
    if answer["process"]:
        return "right, behind a program that is not the lab's" if answer.get("passed_over") else "right"
    return "second" if answer["of_two"] else "not counted" if answer["process"] is None else "wrong"


def write_answers(whyslow, judged, path, command):
    """What a user reads: of each kind the first case, right or wrong, as printed, to the second suspect."""
    first = {}
    for case in judged:
        first.setdefault(case["scenario"], case)
    with open(path, "w") as out:
        out.write(f"# Answers, as printed\n\nWritten by `{command}`: of each kind the first case that was played, right or wrong "
                  "([how the lab works](lab.md)), with its first two suspects. Control groups that are not the lab's are left out. "
                  "Programs that are not the lab's ran as well, compilers for example: the lab does not know whether they were bystanders.\n\n")
        out.writelines(f"{line}\n" for line in [row("kind", "culprit", "first named", "judged"), row(*["---"] * 4)])
        for kind, case in sorted(first.items()):
            answer = case["answers"][DEFAULT]
            out.write(row(f"[{kind}](#{kind})", culprit(case), answer["first"] or "none", verdict(answer)) + "\n")
        for kind, case in sorted(first.items()):
            out.writelines(answer_as_printed(whyslow, kind, case))


def culprit(case):
    return ", ".join(case["culprits"]) or case["truth"]["guilty"]


def answer_as_printed(whyslow, kind, case):
    words = recording.Kept(whyslow, case["folder"] / "recording.db").words(case["mark"], "--top", "2")
    top = ", ".join(f"{first[0][1]} by {column}" for column, first in case["tops"].items())
    yield (f"\n## {kind}\n\n{scenes.what_of(case)}\n\nCulprit: {culprit(case)}; marked after {case['seconds_until_press']} s. "
           f"`top` shows {top} first.\n\n    $ whyslow why --at {case['mark']} --top 2\n")
    for line in words.rstrip().splitlines():
        yield f"    {OTHERS.sub('', line)}".rstrip() + "\n"


def print_figures(judged, quiet):
    groups = {"all": judged, "six": [case for case in judged if case["group"] == "six"]}
    for group, of_group in groups.items():
        for name in answerers(of_group):
            for measure, title in (("process", "top_process"), ("of_two", "one_of_top_two"), ("feature", "top_feature"),
                                   ("feature_strict", "strict_feature"), ("accused", "innocents_accused"),
                                   ("words", "right_cause"), ("cause_strict", "strict_cause")):
                print_ratio(f"lab.{group}.{title}{suffix(name)}", *counts(of_group, name, measure))
    for name in models_of(judged):
        sure = [case["answers"][name]["process"] for case in judged if (case["answers"].get(name, {}).get("confidence") or 0) >= SURE]
        print_ratio(f"lab.all.confident_and_right{suffix(name)}", sum(sure), len(sure))
    for name in quiet:
        print_ratio(f"lab.calm.accused{suffix(name)}", *calm_counts(quiet, name))
    figure("lab.calm.moments", max(map(len, quiet.values()), default=0), "moments")
    figure("lab.answer_worst", max(case["live_answer_took"] for case in judged), "s")
    figure("lab.cases", len(judged), "cases")
    figure("lab.kinds", len({case["scenario"] for case in judged}), "kinds")


def suffix(name):
    return "" if name == DEFAULT else "_" + name.replace(" ", "_").replace("'", "")


def print_ratio(name, hits, n):
    if n:
        figure(name, f"{hits / n:.3f}")


def figure(name, value, unit="ratio"):
    """Beside its goal, where the project's list of goals has one."""
    known = FIGURE.exists() and subprocess.run([FIGURE, name, str(value)], check=False, capture_output=True, text=True)
    print(known.stdout.strip() if known and known.returncode == 0 else f"figure {name} {value} {unit}", flush=True)
