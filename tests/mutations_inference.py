"""Deliberate errors of the estimator: choices that peek at held-out pairs, wrong numbers.

A group is (module, tests, pytest selection, errors), see `mutations`. Changes that no test can see,
because they change nothing, are left out: the seed of the permutation test depends on the number of
blocks, too, which only draws other orders; `mi_matrix` may group pairs by any key that tells shapes
apart, which decides how many are trained at once and nothing else.
"""

HELD_OUT = "np.append(fold.training, fold.held_out)"
LEAKS = "tests/test_leakage.py"
NUMBERS = "tests/test_reported_numbers.py"
NOTHING = "change_nothing"

GROUPS = [
    # peeking
    (
        "mi_lib.inference.crossfit",
        LEAKS,
        "change_nothing or half_of_the_pairs or of_that_fold",
        [
            (
                "tensor([split.fold.training for split in splits], torch.long)",
                "tensor([np.append(s.fold.training, s.fold.held_out[:1]) for s in splits], "
                "torch.long)",
            ),
            (
                "split.fold.validation[:shortest] for split in splits",
                "split.fold.held_out[:shortest] for split in splits",
            ),
            (
                "rows, held = split.fold.validation, split.fold.held_out",
                "rows, held = split.fold.held_out, split.fold.held_out",
            ),
            ("[member.validated for member in self.members]", "held"),
            (
                "Fold(f.training[:size], f.validation, f.held_out)",
                "Fold(np.append(f.training[:size], f.held_out[0]), f.validation, f.held_out)",
            ),
            ("which = slice(first, first + plan.seeds)", "which = slice(0, plan.seeds)"),
        ],
    ),
    (
        "mi_lib.inference.splits",
        LEAKS,
        NOTHING,
        [
            ("Encoder.fit(columns, fold.training)", f"Encoder.fit(columns, {HELD_OUT})"),
            ("Limits.fit(*codes, fold.training)", f"Limits.fit(*codes, {HELD_OUT})"),
            (
                "parametric.choose(zx, zy, fold.training, fold.validation, tails)",
                f"parametric.choose(zx, zy, {HELD_OUT}, fold.validation, tails)",
            ),
            (
                "parametric.choose(zx, zy, fold.training, fold.validation, tails)",
                "parametric.choose(zx, zy, fold.training, fold.held_out, tails)",
            ),
            ("sizes, fold.training)", f"sizes, {HELD_OUT})"),
            ("    t = fold.training\n", f"    t = {HELD_OUT}\n"),
            ("rows = fold.validation[: parametric.JUDGED]", "rows = fold.held_out"),
        ],
    ),
    (
        "mi_lib.inference.encoding",
        LEAKS,
        NOTHING,
        [
            ("NormalScore.fit(column.values[rows])", "NormalScore.fit(column.values)"),
            ("Indicators.fit(column.values[rows], ", "Indicators.fit(column.values, "),
        ],
    ),
    (
        "mi_lib.inference.folds",
        "tests/test_inference_parts.py",
        "folds_hold or follow_the_seed",
        [
            ("enumerate(parts) if j != k", "enumerate(parts)"),
            ("rng = np.random.default_rng([seed, n, folds])", "rng = np.random.default_rng(n)"),
            ("training = n - largest - validation", "training = n - largest"),
        ],
    ),
    (
        "mi_lib.inference.lower_bound",
        LEAKS,
        "clip_of",
        [
            (
                "choose_level(known, len(part), delta, most)",
                "choose_level(part, len(part), delta, most)",
            )
        ],
    ),
    # numbers
    (
        "mi_lib.inference.estimator",
        NUMBERS,
        "means_of or standard_error or both_ends or certificate or new_pairs or permutes",
        [
            (
                "self.dv_ = (value - math.log(scale)) / unit",
                "self.dv_ = (value + math.log(scale)) / unit",
            ),
            (
                "self.dv_ = (value - math.log(scale)) / unit",
                "self.dv_ = (value - scale + 1) / unit",
            ),
            ("mean_of_exp(scored.scores[:, 1:])[0]", "mean_of_exp(scored.scores)[0]"),
            ("self.interval_ = tuple(end / unit for end in ends)", "self.interval_ = tuple(ends)"),
            (
                "self.interval_ = tuple(end / unit for end in ends)",
                "self.interval_ = (ends[0] / unit, (2 * value - ends[0]) / unit)",
            ),
            ("self.plug_in_ = value / unit", "self.plug_in_ = (value + growth.added) / unit"),
            ("float(half.scores[:, 0].mean()) / unit", "float(half.scores.mean()) / unit"),
            (
                "self.standard_error_ = spread.total / unit",
                "self.standard_error_ = spread.pairs / unit",
            ),
            ("scored.held_out(), self.confidence) / unit", "scored.held_out(), self.confidence)"),
            ("scored.held_out(), self.confidence) / unit", "scored.held_out(), 0.95) / unit"),
            ("growth, self.confidence)", "growth, 0.95)"),
            ("scored.blocks(permutation.BLOCK)", "scored.blocks(20)"),
            ("return np.mean(values, axis=0) / nats_per", "return values[0] / nats_per"),
            ("if self.stability else None", "if False else None"),
            (
                "self.growth_ = growth.gain / unit, growth.error / unit",
                "self.growth_ = growth.gain / unit, 0.0",
            ),
        ],
    ),
    (
        "mi_lib.inference.uncertainty",
        NUMBERS,
        "standard_error or both_ends",
        [
            ("isf((1 - confidence) / 2)", "isf(1 - confidence)"),
            (
                "return max(0.0, centre - reach), centre + reach",
                "return max(0.0, centre - reach), centre + 2 * reach",
            ),
            ("return max(0.0, centre - reach), centre + reach", "return 0.0, centre + reach"),
            ("max(0.0, between - pairs), seeds)", "between, seeds)"),
            ("by_seed.mean(1).var(ddof=1) / len(by_seed)", "by_seed.mean(1).var(ddof=1)"),
        ],
    ),
    (
        "mi_lib.inference.lower_bound",
        NUMBERS,
        "certificate",
        [
            (
                "delta = (1 - confidence) / len(folds)\n    values",
                "delta = 1 - confidence\n    values",
            ),
            (
                "7 * width * log / (3 * (m - 1))\n    return "
                "float(values.mean() - margin)\n\n\ndef blocks",
                "0\n    return float(values.mean() - margin)\n\n\ndef blocks",
            ),
            ("return float(np.mean(values))", "return float(np.max(values))"),
            ("np.exp(backward[even + 1])", "np.exp(backward[even])"),
            (
                "part, width = blocks(scores[:, 0], scores[:, 2], scores[:, 1], level)",
                "part, width = blocks(scores[:, 0], scores[:, 1], scores[:, 2], level)",
            ),
        ],
    ),
    (
        "mi_lib.inference.permutation",
        NUMBERS,
        "order_of or drawn_apart or draw_follows or wild",
        [
            (
                "np.argsort(rng.random((permutations, len(scores))), axis=1)",
                "rng.integers(len(scores), size=(permutations, len(scores)))",
            ),
            (
                "np.argsort(rng.random((permutations, len(scores))), axis=1)",
                "np.argsort(rng.random((1, len(scores))), axis=1)",
            ),
            (
                "np.argsort(rng.random((permutations, len(scores))), axis=1)",
                "(rows + rng.integers(len(rows), size=(permutations, 1))) % len(rows)",
            ),
            ("drawn += scores[rows, orders].sum(1)", "drawn = scores[rows, orders].sum(1)"),
            ("default_rng([seed, len(blocks)])", "default_rng(0)"),
            ("np.clip(block, -CLIP, CLIP)", "block"),
        ],
    ),
    (
        "mi_lib.inference.crossfit",
        NUMBERS,
        "means_of or seeds_are or new_pairs or permutes or certificate",
        [
            ("return log_ratio + combine(f, g).mean(0)", "return log_ratio + combine(f, g)[0]"),
            (
                "return log_ratio + combine(f, g).mean(0)",
                "return 0 * log_ratio + combine(f, g).mean(0)",
            ),
            (
                "raw = score_fold(replace(member, split=split), rows, 0).mean(0)",
                "raw = score_fold(replace(member, split=split), rows, 0)[0]",
            ),
            (
                "calibration.apply(member.slopes, raw.mean(0))",
                "calibration.apply(member.slopes, raw[0])",
            ),
            (
                "own = calibration.apply(member.slopes, raw[:, :, :1])",
                "own = raw[:, :, :1].sum(-1)",
            ),
            ("steps = [0, -1, *range(1, shifts)]", "steps = [0, 1, *range(2, shifts)]"),
        ],
    ),
    (
        "mi_lib.inference.network",
        NUMBERS,
        "lowest or training_ends or left_out or order_of_its_own",
        [
            ("            p.copy_(kept)\n    return Fitted", "            pass\n    return Fitted"),
            ("better = loss < lowest\n", "better = loss < math.inf\n"),
            (
                "since = torch.where(better, 0, since + 1)",
                "since = torch.where(better, since, since + 1)",
            ),
            ("since >= PATIENCE).all()", "since >= PATIENCE).any()"),
            ("since >= PATIENCE).all()", "since > PATIENCE).all()"),
            (
                'stream("residual batches", name) for name in names',
                'stream("residual batches", seed) for name in names',
            ),
            ("names = [seed * 10_007 + 101 * k + s for", "names = [seed * 10_007 + s for"),
            ("if done % per_epoch == 0:", "if done == 0:"),
            ("lowest = anchored(parametric)  #", "lowest = anchored(parametric) + 1e9  #"),
            (
                "kept[chosen.repeat(towers)] = new[chosen.repeat(towers)]",
                "kept[chosen] = new[chosen]",
            ),
            ("part * batch : (part + 1) * batch]", ": batch]"),
        ],
    ),
    (
        "mi_lib.inference.conditional",
        NUMBERS,
        "pair_by_pair",
        [
            ("full[0].by_seed - full[1].by_seed", "full[0].by_seed"),
            (
                "problems = [(sides[0] + sides[2], sides[1]), (sides[2], sides[1])]",
                "problems = [(sides[0] + sides[2], sides[1]), (sides[0], sides[1])]",
            ),
            ("growth_of(values, _difference(*half))", "growth_of(values, half[0].scores[:, 0])"),
            ("tuple(end / unit for end in ends)", "tuple(2 * end / unit for end in ends)"),
        ],
    ),
    (
        "mi_lib.inference.matrix",
        f"{NUMBERS} tests/test_estimator.py",
        "entry_of_the_matrix or the_matrix",
        [
            ("frame.iloc[b, a] = entry / unit", "frame.iloc[b, a] = entry"),
            (
                "entries = max(0.0, own.mean()), *ends",
                "entries = max(0.0, own.mean()), *ends[::-1]",
            ),
            (
                "places = [given.index(column.name) for column in columns]",
                "places = list(range(len(columns)))",
            ),
        ],
    ),
]
