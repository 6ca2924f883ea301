"""Results as tables, as figures and as a transcript; computes nothing that is not counted here."""
import pathlib
import subprocess

import score

MEASURES = (("process", "top process"), ("of_two", "one of top two"), ("feature", "top feature"))
FIGURE = pathlib.Path(__file__).parent.parent / "bench/figure"


def counts(results, answerer, measure):
    """Hits and cases in which this answerer says such a thing at all (top names no features)."""
    said = [result["answers"][answerer].get(measure) for result in results if answerer in result["answers"]]
    said = [value for value in said if value is not None]
    return sum(said), len(said)


def answerers(results):
    return list(dict.fromkeys(name for result in results for name in result["answers"]))


def print_case(result):
    print(f"\n{result['case']}: {result['what']}")
    print(f"  guilty: {', '.join(result['culprits'])}; pressed after {result['seconds_until_press']} s; the editor was "
          f"{result['late_ms']} ms late (usually {result['late_ms_usually']} ms)")
    for name, answer in result["answers"].items():
        mark = "right" if answer["process"] else "2nd  " if answer["of_two"] else "wrong"
        line = f"  {mark} {name:14} {answer['first']}"
        if "feature_named" in answer:
            line += f", {answer['feature_named']}{'' if answer['feature'] else ' (not a right feature)'}"
            line += f"; bottleneck {answer['bottleneck']}"
        if answer.get("accused"):
            line += f"; ACCUSED INNOCENTS: {', '.join(answer['accused'])}"
        print(line, flush=True)


def print_tables(results):
    columns = answerers(results)
    for measure, title in MEASURES:
        print(f"\n{title} right, with 95 % intervals")
        rows = [name for name in columns if counts(results, name, measure)[1]]
        print_row("", rows)
        for scenario in dict.fromkeys(result["scenario"] for result in results):
            of_kind = [result for result in results if result["scenario"] == scenario]
            print_row(scenario, [score.proportion(*counts(of_kind, name, measure)) for name in rows])
        print_row("all", [score.proportion(*counts(results, name, measure)) for name in rows])
    print("\ncases in which an innocent of the background was accused")
    for name in columns:
        said = [bool(result["answers"][name]["accused"]) for result in results if "accused" in result["answers"][name]]
        if said:
            print_row(name, [score.proportion(sum(said), len(said))])


def print_row(title, cells):
    print(f"  {title:16}" + "".join(f"{cell:>24}" for cell in cells))


def print_figures(results):
    for group in dict.fromkeys(result["group"] for result in results):
        of_group = [result for result in results if result["group"] == group]
        for name in answerers(of_group):
            suffix = "" if name == "robust" else "_" + name.replace(" ", "_")
            for measure, title in MEASURES:
                hits, n = counts(of_group, name, measure)
                if n:
                    figure(f"lab.{group}.{title.replace(' ', '_')}{suffix}", f"{hits / n:.2f}")
        accused = sum(bool(result["answers"]["robust"]["accused"]) for result in of_group)
        figure(f"lab.{group}.innocents_accused", f"{accused / len(of_group):.2f}")
        figure(f"lab.{group}.answer_worst", max(result["answers"]["robust"]["took"] for result in of_group), "s")


def figure(name, value, unit="ratio"):
    """Beside its goal, where the project's list of goals is at hand."""
    known = FIGURE.exists() and subprocess.run([FIGURE, name, str(value)], check=False, capture_output=True, text=True)
    print(known.stdout.strip() if known and known.returncode == 0 else f"figure {name} {value} {unit}", flush=True)


def write_transcript(results, path, machine):
    """The first case of each scenario, as printed, right or wrong."""
    seen = set()
    with open(path, "w") as out:
        out.write(f"# Answers to the lab's slowdowns, as printed\n\nWritten by `lab/run --transcript`: the first case of each "
                  f"scenario, right or wrong. {machine}\n")
        for result in results:
            if result["scenario"] in seen:
                continue
            seen.add(result["scenario"])
            answer = result["answers"]["robust"]
            verdict = "right process" if answer["process"] else "WRONG process"
            verdict += ", right feature" if answer["feature"] else ", not a right feature"
            out.write(f"\n## {result['scenario']}\n\n{result['what']}\n\nGuilty: `{', '.join(result['culprits'])}`; the button was "
                      f"pressed after {result['seconds_until_press']} s. The answer has the {verdict}.\n")
            for column in ("cpu", "io", "memory"):
                out.write(f"`top` by {column} shows `{result['answers'][f'top by {column}']['first']}` first. ")
            out.write(f"\n\n    # whyslow why --at MARK\n")
            out.writelines(f"    {line}".rstrip() + "\n" for line in result["words"].rstrip().splitlines())
