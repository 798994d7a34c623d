"""Compiles single pipelines, and prints a JSON object for each: processor time in seconds, and the most memory.

usage: compiling.py NYALA PIPELINES FOLDER NAME..

PIPELINES exports several; a copy of it that exports the named one only is compiled, twice: the better run counts.
"""

import json
import os
import sys

nyala, pipelines, folder, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
lines = open(pipelines, encoding="utf-8").read().splitlines(keepends=True)


def measured(arguments):
    """The time and the memory that a process needs."""
    child = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{arguments} fails")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


for name in names:
    program = os.path.join(folder, name + ".impala")
    with open(program, "w", encoding="utf-8") as out:
        out.writelines(line if line.startswith(f"#[export] fn {name}(") else line.replace("#[export] ", "") for line in lines)
    build = [nyala, "build", "-O3", "--fast-math", "--emit", "obj", "-o", os.path.join(folder, name + ".o"), program]
    runs = [measured(build) for _ in range(2)]
    print(json.dumps({"name": name, "seconds": min(runs)[0], "mib": max(memory for _, memory in runs)}), flush=True)
