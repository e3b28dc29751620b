"""`laneflow run`: prompts continued through a topology. Light until the command runs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


class Run:
    """Text on stdout, diagnostics and progress on stderr."""

    help = "decode prompts with a DeepSeek-V4 checkpoint through a topology"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 done, 1 where a request failed, 2 where it could not start. "
            "Batch size, request rows and prompt chunk are the topology's dims: "
            "dims.batch=16 dims.capacity=16 dims.chunk=128"
        )
        parser.add_argument("topology", help="a shipped topology (see `laneflow list`) or a file")
        parser.add_argument("overrides", nargs="*", metavar="key=value", help="as in buffers.inputs.slots=3")
        parser.add_argument("--model", metavar="DIR", help="checkpoint directory (default: the bundled one)")
        prompts = parser.add_mutually_exclusive_group(required=True)
        prompts.add_argument(
            "--prompt", metavar="TEXT", action="append", help="a prompt; may be given several times"
        )
        prompts.add_argument("--prompts", metavar="FILE", help="a text file with one prompt a line")
        prompts.add_argument("--prompt-ids", metavar="FILE", help="a JSON file: a list of lists of token ids")
        parser.add_argument(
            "--max-tokens", type=int, default=64, metavar="N", help="new tokens per prompt (default 64)"
        )
        parser.add_argument(
            "--mtp",
            type=int,
            metavar="K",
            help="tokens that a step drafts per request, 0 to 3 (default: 1 where the checkpoint can)",
        )
        parser.add_argument(
            "--context", type=int, metavar="N", help="most tokens per request (default: what is asked for)"
        )
        parser.add_argument(
            "--stop",
            metavar="TEXT",
            action="append",
            help="end where this text comes, which is not shown; may be given several times",
        )
        parser.add_argument("--ignore-eos", action="store_true", help="go on after an end-of-sequence token")
        parser.add_argument(
            "--temperature", type=float, default=0.0, metavar="T", help="0, the default, is greedy"
        )
        parser.add_argument(
            "--top-p", type=float, default=1.0, metavar="P", help="sample from this share of probability"
        )
        parser.add_argument(
            "--seed", type=int, default=0, metavar="N", help="prompt i is sampled with seed N + i"
        )
        parser.add_argument("--device", default="cpu", help="cpu (default) or cuda, cuda:1, ...")
        parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
        parser.add_argument(
            "--threads", type=int, default=1, metavar="N", help="torch threads per lane (default 1)"
        )
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--compile", action="store_true", help="compile the decode step for these sizes if it is not yet"
        )
        way.add_argument(
            "--eager", action="store_true", help="do not use a compiled decode step, even if there is one"
        )
        parser.add_argument(
            "--device-time",
            type=float,
            metavar="MS",
            help="make every step of the device take this long at least, as on a device of that speed",
        )
        parser.add_argument(
            "--trace", metavar="FILE", help="record the run for Perfetto and `laneflow report`"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line for each request")
        parser.add_argument(
            "--strict", action="store_true", help="fail instead of falling back: topology, dispatch"
        )
        parser.add_argument(
            "--checked", action="store_true", help="guard every slot access while running (slower)"
        )
        parser.add_argument("--version", action="version", version=_Version())

    def run(self, args: Namespace) -> int:
        from deepseek.running import run

        return run(args)


class _Version(str):
    """The version's text, looked up only when it is printed."""

    def __mod__(self, values: object) -> str:
        from importlib import metadata

        return f"laneflow {metadata.version('laneflow')}"


RUN = Run()
