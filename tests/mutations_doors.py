"""Deliberate errors at the doors: files, state, input, critics, and the truths of known tasks.

A group is (module, tests, pytest selection, errors), see `mutations`.
"""

SUITE = "tests/test_suite.py"
KNOWN = "stated_information or known_values or mean_of_one_over"

GROUPS = [
    # truths of tasks
    (
        "companion.data.elliptical",
        SUITE,
        "inverse or neighbours or loses_the_sign",
        [
            ("np.sign(z) * np.abs(z) ** 1.5", "np.abs(z) ** 1.5"),
            ("np.sign(z) * np.abs(z) ** 1.5", "np.sign(z) * np.abs(z)"),
            ('"cubic": lambda z: z**3', '"cubic": lambda z: z**2'),
            ("SPIRAL_SPEED * (z**2).sum(1)", "SPIRAL_SPEED * z.sum(1)"),
            ("np.sin(angle) * z[:, 0] + np.cos(angle)", "np.sin(angle) * z[:, 0] - np.cos(angle)"),
            ("(1 + 2 * special.ndtr(z[:, 0]))", "(1 + 2 * np.abs(z[:, 0]))"),
            ("np.stack([t * np.cos(t), t * np.sin(t)], 1)", "np.stack([np.cos(t), np.sin(t)], 1)"),
            ("MAPS[self.map_y](z), ratio", "MAPS[self.map_x](x), ratio"),
            ("np.linalg.cholesky(sigma).T", "np.linalg.cholesky(sigma)"),
        ],
    ),
    (
        "companion.data.elliptical",
        SUITE,
        KNOWN,
        [
            ("rng.chisquare(self.nu, (n, 1)) / self.nu", "rng.chisquare(self.nu, (n, 1))"),
            ("- self._log_density(z, sigma[d:, d:])", "+ self._log_density(z, sigma[d:, d:])"),
            ("half = (self.nu + dim) / 2", "half = (self.nu - dim) / 2"),
        ],
    ),
    (
        "companion.data.one_dimensional",
        SUITE,
        KNOWN + " or neighbours or limits",
        [
            ("Drawn(x, y, -np.log(reach))", "Drawn(x, y, np.log(reach))"),
            ("short / (2 * long) -", "short / long -"),
            ("np.logaddexp(*both) - math.log(2)", "np.logaddexp(*both)"),
            (
                "self._log_density(y, math.hypot(self.spread, self.noise)))",
                "self._log_density(y, self.spread))",
            ),
            ("2 * math.pi * math.e * self.noise**2", "2 * math.pi * self.noise**2"),
            ("(1 + radius**2) / (2 * var)", "radius**2 / (2 * var)"),
            ("return 2 * margin - float", "return margin - float"),
            ("log_joint * 2 * math.pi * radius", "log_joint * 2 * math.pi"),
        ],
    ),
    (
        "companion.data.discrete",
        SUITE,
        KNOWN + " or inflated",
        [
            ("/ self.joint.sum(1, keepdims=True) / self.joint.sum(0)", "/ self.joint.sum(0)"),
            ("words[cells // size], cells % size", "words[cells % size], cells % size"),
            ("other = error / (symbols - 1)", "other = error / symbols"),
            ("np.where((cell == 0) | (cell == self.symbols), 1, 2)", "np.where(cell == 0, 1, 2)"),
            ("(self.symbols - 1) / self.symbols * math.log(2)", "math.log(2)"),
            ("- (y + 1) * math.log(2)", "- y * math.log(2)"),
            (
                "Drawn(self.draw_x(n, rng), self.draw_y(n, rng), np.zeros(n))",
                "Drawn(*2 * (self.draw_x(n, rng),), np.ones(n))",
            ),
        ],
    ),
    # critics
    (
        "mi_lib.critics",
        "tests/test_critics.py",
        "",
        [
            ("bound = 1 / math.sqrt(fan_in)", "bound = 1 / fan_in"),
            ("(2 * torch.stack(draws) - 1) * bound", "torch.stack(draws) * bound"),
            (
                "torch.Generator().manual_seed(seed) for seed",
                "torch.Generator().manual_seed(0) for seed",
            ),
            ("torch.bmm(f, g.mT)", "torch.bmm(g, f.mT)"),
            ("(of_x[:, :, None] + of_y[:, None])", "(of_x[:, None] + of_y[:, :, None])"),
            ("fan_in = x_dim + y_dim", "fan_in = x_dim"),
            ("if self.normalise:", "if False:"),
            (
                "torch.baddbmm(bias, torch.relu(hidden), weight)",
                "torch.baddbmm(bias, hidden, weight)",
            ),
            ("if streams != len(self.seeds):", "if False:"),
            ("split.permute(2, 0, 1, 3)", "split.permute(2, 0, 1, 3).flip(0)"),
        ],
    ),
    (
        "mi_lib.estimators",
        "tests/test_estimators.py",
        "",
        [
            ("tau=5.0", "tau=0.1"),
            (
                "return -EVALUATIONS[self.evaluation](scores) / nats_per(unit)",
                "return -EVALUATIONS[self.evaluation](scores)",
            ),
            ("with torch.no_grad():", "with torch.enable_grad():"),
            ('Estimator("MINE", 2, "mine", "dv"', 'Estimator("MINE", 2, "mine", "nwj"'),
            ('"js": losses.JS', '"js": losses.NWJ'),
        ],
    ),
    # files that anybody may have written
    (
        "mi_lib.archives",
        "tests/test_crafted_files.py",
        "gigabytes or claim or packings or NaN or infinite",
        [
            ("if part.file_size > SHRUNK * (part.compress_size + 1):", "if False:"),
            ("size != part.file_size:", "False:"),
            ("(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)", "range(99)"),
            ('if part.dtype.kind in "fc")', 'if part.dtype.kind in "c")'),
        ],
    ),
    (
        "mi_lib.inference.storage",
        "tests/test_crafted_files.py",
        "gigabytes or belong or another_kind or parameters_of",
        [
            ("arrays[name].shape != shape for", "False for"),
            ("or not all_finite(arrays)", ""),
            ("        _try(made[-1], meta", "        (made[-1], meta"),
            ("parse_constant=_refuse", "parse_constant=float"),
            ("given.keys() != PARAMETERS", "False"),
            ("or values.keys() != set(PLAIN)", ""),
            ('or len(meta["interval"]) != 2', ""),
            ("        _check(meta, arrays)\n", ""),
            ('_all_are(str, given["device"])', "pass"),
            ('_all_are(bool, given["stability"])', "pass"),
            ('nats_per(given["unit"])', "pass"),
            ('_numbers([found["value"]])', "pass"),
            ("if not np.isfinite(score_new(member, *sides)).all():", "if False:"),
        ],
    ),
    (
        "mi_lib.critic_fit",
        "tests/test_crafted_files.py",
        "critic or another_kind or another_loss",
        [
            ("part.shape != value.shape or", ""),
            ("or part.is_floating_point() != value.is_floating_point()", ""),
            ("or not all_finite(arrays)", ""),
            ("known.keys() != arrays.keys()", "not known.keys() <= arrays.keys()"),
            ("values.keys() != set(names) or", ""),
            ("or values[n] != values[n]", ""),
            (
                "isinstance(v, float | int) or math.isnan(v) for v in rest",
                "isinstance(v, object) for v in rest",
            ),
        ],
    ),
    # the caller's process
    (
        "mi_lib.inference.crossfit",
        "tests/test_caller_state.py",
        "same_under",
        [
            ("@torch.inference_mode(False)\n", ""),
            ("@torch.enable_grad()\n", ""),
        ],
    ),
    (
        "mi_lib.inference.network",
        "tests/test_caller_state.py",
        "same_under",
        [("1 / math.sqrt(fan_in), torch.float32", "1 / math.sqrt(fan_in), None")],
    ),
    (
        "mi_lib.inference.estimator",
        "tests/test_caller_state.py",
        "stays_as or without_a_seed",
        [("state = np.random.RandomState() if self.random_state is None else", "state =")],
    ),
    (
        "mi_lib.batches",
        "tests/test_caller_state.py",
        "is_trained",
        [('torch.as_tensor(values, device="cpu")', "torch.as_tensor(values)")],
    ),
    (
        "mi_lib.training",
        "tests/test_caller_state.py",
        "are_named",
        [("if any(w.is_inference() for w in self.weights):", "if False:")],
    ),
    (
        "mi_lib.ceiling",
        "tests/test_caller_state.py",
        "is_trained",
        [('@np.errstate(under="ignore")', '@np.errstate(under="raise")')],
    ),
    (
        "mi_lib.inference.table",
        "tests/test_table.py",
        "are_numbers or left_out or must_have or by_place or different_length",
        [
            ("distinct <= min(FEW, len(values) // 10)", "distinct <= 2"),
            (
                "varying = [column for column in columns if not _is_constant(column)]",
                "varying = columns",
            ),
            ("    if unknown:", "    if False:"),
            ("    if missing:", "    if False:"),
            ("    if n != m:", "    if False:"),
        ],
    ),
]
