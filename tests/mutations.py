"""Deliberate errors, as data: each must be caught by the tests named beside it.

``python -m tools.mutate`` applies them one at a time to a module in memory and runs the tests; a
mutation that no test notices is a hole in the tests and fails ``make test``. An entry is (text of
the module, which must occur exactly once, what it becomes).
"""

from typing import NamedTuple


class Group(NamedTuple):
    """Errors in one module and the pytest selection that must catch each of them."""

    module: str
    tests: str
    select: str
    errors: list[tuple[str, str]]


GROUPS = [
    Group(
        "mi_lib.ceiling",
        "tests/test_bounds.py",
        "number or ends or nats or forty_digits or definition or inverts or entropy",
        [
            ("-(1 + nu * hit) * t + (k - 1) * stay", "-(1 + nu * hit) * t + k * stay"),
            ("-(1 + nu * hit) * t + (k - 1) * stay", "-(1 + nu) * t + (k - 1) * stay"),
            ("np.expm1(-grown - nu * miss * t)", "np.expm1(-grown - nu * t)"),
            ("grown = (k - 1) * np.log1p(miss", "grown = k * np.log1p(miss"),
            (
                "stay = np.maximum(np.log1p(hit * np.expm1(-t))",
                "stay = np.maximum(np.log1p(miss * np.expm1(-t))",
            ),
            ("-np.exp(-nu * t + k * stay)", "-np.exp(-nu * t + (k - 1) * stay)"),
            ("-np.exp(-nu * t + k * stay)", "-np.exp(-t + k * stay)"),
            (
                "np.expm1(-k * np.maximum(grown, 0.0))",
                "np.expm1(-(k - 1) * np.maximum(grown, 0.0))",
            ),
            (
                "small = np.log1p(miss * np.expm1(near)) - miss * near",
                "small = np.log1p(miss * np.expm1(near))",
            ),
            ("nu_ / total * _without", "1 / total * _without"),
            ("k_ / total * _with_pair", "(k_ - 1) / total * _with_pair"),
            ("ceiling = integrand.sum(-1) * _STEP / scale", "ceiling = integrand.sum(-1) * _STEP"),
            ("_STEP = 0.125", "_STEP = 2.0"),
            ("np.log(sizes + weights) - own / (sizes + weights)", "np.log(sizes + weights) - own"),
            (
                'below = infonce_ceiling(middle, whole, weights, "nats") < given',
                'below = infonce_ceiling(middle, whole, weights, "nats") > given',
            ),
        ],
    ),
    Group(
        "companion.printed_bound",
        "tests/test_bounds.py",
        "formula_of_the_paper or nats",
        [
            (
                "np.log1p((sizes - 1) * np.exp(-divergence))",
                "np.log1p(sizes * np.exp(-divergence))",
            ),
            (
                "np.log1p((sizes - 1) * np.exp(-divergence))",
                "np.log1p((sizes - 1) * np.exp(divergence))",
            ),
        ],
    ),
    Group(
        "mi_lib.bounds",
        "tests/test_bounds.py",
        "nats or jensens or formula_of_the_paper or attains or falls_with_beta or keep",
        [
            (
                'np.log1p(nonnegative_array(chi2, "chi2") / tuple_sizes(k)) / scale',
                'np.log1p(nonnegative_array(chi2, "chi2") / tuple_sizes(k))',
            ),
            ("bound = divergence - np.log1p", "bound = divergence + np.log1p"),
            ("return mean_log_r - excess / scale", "return mean_log_r - excess"),
            ("return mean_log_r - excess / scale", "return mean_log_r + excess / scale"),
            ("mean_log_r - (1 + beta) * log / scale", "mean_log_r - beta * log / scale"),
        ],
    ),
    Group(
        "mi_lib.scoring",
        "tests/test_scoring.py",
        "literals or of_5_classes or entry_of_all or any_psi or saturates",
        [
            ("        return -own\n", "        return own\n"),
            ("total / self.alpha - saturating_exp", "total / self.alpha + saturating_exp"),
            ("return total / self.alpha -", "return total -"),
            (
                "saturating_exp((self.alpha - 1) * own) / (self.alpha - 1)\n",
                "saturating_exp((self.alpha - 1) * own)\n",
            ),
            ("saturating_exp((self.alpha - 1) * own)", "saturating_exp(self.alpha * own)"),
            (
                "log_norm = torch.logsumexp(alpha * log_eta, -1, keepdim=True) / alpha",
                "log_norm = torch.logsumexp(alpha * log_eta, -1, keepdim=True)",
            ),
            ("-(classes ** (-1 / alpha))", "-((classes - 1) ** (-1 / alpha))"),
            ("-(classes ** (-1 / alpha))", "(classes ** (-1 / alpha))"),
            (
                "log_eta.sum(-1, keepdim=True) + saturating_exp(-own)",
                "log_eta.sum(-1, keepdim=True) - saturating_exp(-own)",
            ),
            (
                "log_eta.sum(-1, keepdim=True) + saturating_exp(-own)",
                "log_eta.mean(-1, keepdim=True) + saturating_exp(-own)",
            ),
            ("-self.slope(log_rho)], -1)", "self.slope(log_rho)], -1)"),
            (
                "return self.gap(log_eta[..., 1:] - log_eta[..., :1]).sum(-1)",
                "return self.gap(log_eta[..., 1:] - log_eta[..., :1]).mean(-1)",
            ),
            (
                "return -self.slope(log_eta[..., z] - log_eta[..., 0])",
                "return -self.slope(log_eta[..., z])",
            ),
            (
                "return rho * _derivative(self.psi, rho) - self.psi(rho)",
                "return rho * _derivative(self.psi, rho) + self.psi(rho)",
            ),
            (
                "return saturating_exp(self.alpha * log_rho) / self.alpha",
                "return saturating_exp(self.alpha * log_rho)",
            ),
            ("return -saturating_exp(-log_rho)", "return saturating_exp(-log_rho)"),
            ("held = limit + (exponent - exponent.detach())", "held = exponent"),
        ],
    ),
    Group(
        "mi_lib.finite",
        "tests/test_finite.py",
        "against or at_one_over_k or known_ones or scale or q1_comes_first or exact_results",
        [
            (
                "r, unit), k, lambda own, rest: (own + rest) / k)",
                "r, unit), k, lambda own, rest: own + rest)",
            ),
            (
                "None, unit), k, lambda own, rest: (own + rest) / k)",
                "None, unit), k, lambda own, rest: (own + rest) / (k - 1 or 1))",
            ),
            ("alpha * own + (1 - alpha) * rest / (k - 1)", "alpha * own + (1 - alpha) * rest / k"),
            (
                "alpha * own + (1 - alpha) * rest / (k - 1)",
                "(1 - alpha) * own + alpha * rest / (k - 1)",
            ),
            ("alphabet.draws(alphabet.q0, k - 1)", "alphabet.draws(alphabet.q0, k)"),
            ("alphabet.draws(alphabet.q0, k - 1)", "alphabet.draws(alphabet.q1, k - 1)"),
            ("alphabet.log(alphabet.r[i]) - (weights", "alphabet.log(alphabet.r[i]) + (weights"),
            ("alphabet.draws(alphabet.q0, m * (k - 1))", "alphabet.draws(alphabet.q0, m * k)"),
            (
                "(positives @ alphabet.r + rest[drawn]) / (m * k)",
                "(positives @ alphabet.r + rest[drawn]) / k",
            ),
            ("value = value + k * alphabet.q1[i]", "value = value + alphabet.q1[i]"),
            (
                "_mean_loss(alphabet, [i], k - 1, nu, rule)",
                "_mean_loss(alphabet, [i], k, nu, rule)",
            ),
            (
                "value = value + nu * _mean_loss(alphabet, [], k, nu, rule)",
                "value = value + _mean_loss(alphabet, [], k, nu, rule)",
            ),
            ("return alphabet.answer(value / (k + nu))", "return alphabet.answer(value / k)"),
            ("z = len(anchor) if own else 0", "z = 0"),
            (
                "alphabet.mean(alphabet.r, alphabet.q1) - 1",
                "alphabet.mean(alphabet.r, alphabet.q1)",
            ),
            (
                "mean_r = alphabet.mean(alphabet.r, alphabet.q0)",
                "mean_r = alphabet.mean(alphabet.r, alphabet.q1)",
            ),
            ("alphabet.mean_log_r() - mean_r + 1)", "alphabet.mean_log_r() - mean_r)"),
        ],
    ),
    Group(
        "mi_lib.alphabet",
        "tests/test_finite.py tests/test_alphabet.py",
        "against or draws or compositions or known_ones",
        [
            ("gammaln(total + 1) - gammaln", "gammaln(total) - gammaln"),
            ("r = [p / q if q != 0", "r = [q / p if p != 0"),
            ("sum(self.q1[i] * self.log(self.r[i])", "sum(self.q0[i] * self.log(self.r[i])"),
            ("return float(nats / self.scale)", "return float(nats * self.scale)"),
        ],
    ),
    Group(
        "mi_lib.objectives",
        "tests/test_objectives.py",
        "population_value or every_rule or known_relations or right_entries or gradient_of_dv"
        " or biased or share_no_pair",
        [
            (
                "return torch.logsumexp(flat, -1) - math.log(flat.shape[-1])",
                "return torch.logsumexp(flat, -1)",
            ),
            ("return -positives(scores).mean(-1)", "return positives(scores).mean(-1)"),
            (
                "saturating_exp(negatives(scores)).mean((-2, -1)) - 1",
                "saturating_exp(negatives(scores) - 1).mean((-2, -1))",
            ),
            ("F.softplus(-positives(scores))", "F.softplus(positives(scores))"),
            ("saturating_exp(2 * negatives(scores))", "saturating_exp(negatives(scores))"),
            ("squares.mean((-2, -1)) - 2 * own.mean(-1)", "squares.mean((-2, -1)) - own.mean(-1)"),
            (
                "saturating_exp(-positives(scores) / 2), saturating_exp(negatives(scores) / 2)",
                "saturating_exp(positives(scores) / 2), saturating_exp(negatives(scores) / 2)",
            ),
            (
                'rows = scores.mT if contrast == "x" else scores',
                'rows = scores if contrast == "x" else scores.mT',
            ),
            (
                "return (log_mean_exp(rows) - positives(rows)).mean(-1)",
                "return (log_mean_exp(negatives(rows)) - positives(rows)).mean(-1)",
            ),
            (
                "steps = torch.arange(1, count + 1, device=rows.device)",
                "steps = torch.arange(0, count, device=rows.device)",
            ),
            ("others[..., : k - 1], others, nu", "others[..., :k], others, nu"),
            ("return torch.full_like(own, math.log(nu))", "return torch.full_like(own, 0.0)"),
            ('return (loss("x") + loss("y")) / 2', 'return loss("x") + loss("y")'),
            ("return (k * with_pair + nu * without) / (k + nu)", "return with_pair + without"),
            (
                "excess = log_mean_exp(negatives(scores), 2) - log_mean.detach()",
                "excess = log_mean_exp(negatives(scores), 2) - log_mean",
            ),
        ],
    ),
    Group(
        "mi_lib.objective_variants",
        "tests/test_objectives.py",
        "population_value or every_rule or known_relations or share_no_pair",
        [
            ("log_mean_exp(negatives(rows)) + math.log1p(-alpha)", "log_mean_exp(negatives(rows))"),
            (
                "step = 2 * torch.arange(count, device=scores.device)",
                "step = torch.arange(count, device=scores.device)",
            ),
            ("k, rule = pairs_of(scores) // 2,", "k, rule = pairs_of(scores) - 1,"),
            (
                "return (log_mean_exp(first) - own.mean(-1)).mean(-1)",
                "return (log_mean_exp(first) - own.sum(-1)).mean(-1)",
            ),
            (
                "return torch.sqrt(ratios.square().sum(-1) + nu**2)",
                "return torch.sqrt(ratios.square().sum(-1) + nu)",
            ),
        ],
    ),
    Group(
        "mi_lib.losses.tuples",
        "tests/test_losses.py",
        "function or temperature or gradient or certifies or sentence or half or positive",
        [
            ("return x @ y.mT / self.temperature", "return x @ y.mT * self.temperature"),
            ("return inverse(-loss, pairs, 0.0)", "return inverse(-loss, pairs - 1, 0.0)"),
            ("k = pairs - 1 if self.k is None", "k = pairs if self.k is None"),
            ('*self.sizes(pairs), "nats") - loss', '*self.sizes(pairs), "nats") + loss'),
            ("inverse(bound, *self.sizes(pairs))", "inverse(bound, *self.sizes(pairs + 1))"),
            ('self.rule, self.k, "y")', 'self.rule, None, "y")'),
            ("min(max(0.0, value), most)", "min(value, most)"),
            ("fine = bool(values.amax() < math.inf)", "fine = not bool(values.isnan().any())"),
            ("if values.dtype in HALF", "if values.dtype == torch.int64"),
            ("if not smallest > 0:", "if not smallest >= 0:"),
        ],
    ),
    Group(
        "mi_lib.losses.tuples",
        "tests/test_streaming_loss.py",
        "exact or queue or sums or sentence or told or autocast",
        [
            ("k, nu = n - 1, float(n - 1)", "k, nu = n, float(n)"),
            ("torch.cat([last, rest], -1)", "torch.cat([own, rest], -1)"),
            ("return -sums.log_softmax(-2)", "return sums.log_softmax(-2)"),
            ("mean(-1) - math.log(n)", "mean(-1) - math.log(n - 1)"),
            ('ways = {"x": (y, x), "y": (x, y)}', 'ways = {"x": (x, y), "y": (y, x)}'),
            ('return (loss("x") + loss("y")) / 2', 'return loss("x") + loss("y")'),
            ("single(left) / self.temperature", "single(left)"),
            ('self._looked_at(sums, "sums of scores")', "sums"),
            ("len(left) * len(right) >= LARGE", "len(left) * len(right) > LARGE"),
            ("isinstance(rule, SUMMED) and k is None", "isinstance(rule, SUMMED)"),
        ],
    ),
    Group(
        "mi_lib.losses.row_sums",
        "tests/test_streaming_loss.py",
        "exact or queue or sums or gap or derivative or autocast",
        [
            ("for gap in (0, -1, n - 1):", "for gap in (0, -1):"),
            ("for gap in (0, -1, n - 1):", "for gap in (-1, n - 1):"),
            ("offset = gap + row - column", "offset = gap"),
            (
                "(torch.arange(b, device=device) - 1) % n",
                "(torch.arange(b, device=device) + 1) % n",
            ),
            ("block.diagonal(offset, -2, -1).fill_(-math.inf)", "pass"),
            ("of_left.addcmul_(right[before], last)", "pass"),
            ("of_right[:b].addcmul_(left, own)", "pass"),
            ("of_right.index_add_(0, before, left * last)", "pass"),
            ("of_left[r].addmm_(share, right[c])", "of_left[r].addmm_(share, right[c], alpha=-1)"),
            ("of_right[c].addmm_(share.T, left[r])", "of_right[r].addmm_(share.T, left[r])"),
            (".exp_().mul_(weight[r])", ".exp_()"),
            ("rest, before = _finite(sums[2])", "rest, before = (sums[2])"),
            ("torch.stack(parts).logsumexp(0)", "torch.stack(parts).sum(0)"),
            (
                "most = _finite(kept.amax(-1, keepdim=True))",
                "most = 0 * kept.amax(-1, keepdim=True)",
            ),
            ("if again else kept.mul_(rest[..., None])", "if again else kept"),
            ("kept * rest[..., None] if again", "kept if again"),
            ("kept.diagonal(0, -2, -1).copy_(own)", "pass"),
            ("torch.autocast(left.device.type, enabled=False)", "torch.no_grad()"),
        ],
    ),
    Group(
        "mi_lib.losses.pairwise",
        "tests/test_losses.py",
        "function or remembers or certifies",
        [
            ("return math.log(2) - loss / 2", "return math.log(2) - loss"),
            (
                "inverse(self.bound(loss, pairs), 1, 1.0)",
                "inverse(self.bound(loss, pairs), 2, 1.0)",
            ),
            ("own + math.log(self.rate)", "own + math.log1p(-self.rate)"),
            ("if not self.training:", "if self.training:"),
        ],
    ),
    Group(
        "mi_lib.batches",
        "tests/test_fit.py",
        "never_trained or every_kind or sentence",
        [
            ("apart, rest = order[:count], order[count:]", "apart, rest = order[:count], order"),
            ("sorted(order[count:])), True)", "sorted(order)), True)"),
            ("if one_shot or place >= len(apart):", "if True:"),
            (
                "return [batch for batch in kept if length(batch[0]) == length(kept[0][0])]",
                "return kept",
            ),
            ("    if len(x) != len(y):", "    if False:"),
            ("if length(x) != length(y):", "if False:"),
            ("if not torch.isfinite(tensor).all():", "if False:"),
            ("while taken < held_out:", "while taken <= held_out:"),
        ],
    ),
    Group(
        "mi_lib.training",
        "tests/test_fit.py",
        "patience or clipped or averaged or interrupted or different_batches or disturb"
        " or kind_of_data or sentence",
        [
            (
                "judging, estimated = pairs.held_out[::2], pairs.held_out[1::2]",
                "judging, estimated = pairs.held_out[::2], pairs.held_out[::2]",
            ),
            ("value < self.lowest:", "value > self.lowest:"),
            ("self.since >= self.patience", "self.since >= 10 * self.patience"),
            ("self._put(self.best)", "pass"),
            ("for w in self.weights], 1 - keep)", "for w in self.weights], 0.0)"),
            ("kept = own if self.mean is None else self.mean", "kept = own"),
            ("nn.utils.clip_grad_norm_(self.weights, self.clip)", "pass"),
            ("self._set_random(self.random)", "pass"),
            ("if done > self.step:", "if done >= self.step:"),
            ('"mean", "best", "lowest"', '"best", "lowest"'),
            ('torch.manual_seed(stream("epoch", seed, number).initial_seed())', "pass"),
            ("        self._put(own)\n", "        pass\n"),
        ],
    ),
    Group(
        "mi_lib.checkpoints",
        "tests/test_fit.py",
        "checkpoint or interrupted",
        [
            (
                'if known.get("sha256") != hashlib.sha256(body).hexdigest():',
                'if not known.get("sha256"):',
            ),
            ("if wanted.get(k) != v}", "if k not in wanted}"),
            ("if path.is_dir():", "if False:"),
        ],
    ),
    Group(
        "mi_lib.critic_fit",
        "tests/test_fit.py",
        "trained_critic or pmi or units or reported or saved or says_nothing or sentence"
        " or products",
        [
            ('"dv": float(own.mean()) - scale}', '"dv": float(own.mean()) + scale}'),
            ("- math.log(sum(map(len, others))))", "- math.log(len(others)))"),
            ("losses.mean() + stats.t.isf", "losses.mean() - stats.t.isf"),
            (".diagonal().double().cpu())", ".mean(1).double().cpu())"),
            ("max(0.0, value / per),", "value / per,"),
            ("return left @ right.mT / self.temperature", "return left @ right.mT"),
            ('loss.reports == "bound" else values', 'loss.reports == "dv" else values'),
            ("if stored != repr(loss):", "if False:"),
            ("scores.shape != (b, b):", "scores.ndim == 5:"),
        ],
    ),
    Group(
        "companion.symbolic",
        "tests/test_symbolic.py tests/test_scoring.py",
        "(bregman or regret or g_vanishes or properising or perspective or came_from or at_a_point"
        " or brings or put_back or of_5_classes) and not 64",
        [
            (
                "return tuple(common - d for d in gradient)",
                "return tuple(common + d for d in gradient)",
            ),
            ("(first, *(-d for d in gradient))", "(first, *(d for d in gradient))"),
            ("return -losses[0] - sum(", "return losses[0] - sum("),
            ("return f(at) - value - slope", "return f(at) - value + slope"),
            ("tuple(loss + d - shift", "tuple(loss + d + shift"),
            ("total * phi([1 / total", "phi([1 / total"),
            ("return -sum(sp.log(e) for e in eta)", "return sum(sp.log(e) for e in eta)"),
        ],
    ),
    Group(
        "mi_lib.normal_form",
        "tests/test_symbolic.py tests/test_scoring.py",
        "brings or put_back or at_a_point",
        [("return _reduced(once)[0] if powers", "return once if powers")],
    ),
    Group(
        "companion.experiments.staircase_compare",
        "tests/test_staircase_compare.py",
        "",
        [
            ("{} if name == ANCHOR else", "{} if True else"),
            ('"smaller" if f.high < 0', '"smaller" if f.mean < 0'),
            ('"no" if "smaller" in found', '"no" if "smaller" in group.values()'),
            ("gaps = (both[0] - both[1])", "gaps = (both[1] - both[0])"),
            (
                '(part["value"] - part["truth"]).abs().mean()',
                'abs((part["value"] - part["truth"]).mean())',
            ),
            ("1 + (plug_in - nwj) * math.log(2)", "1 - (plug_in - nwj) * math.log(2)"),
            ("1 + (plug_in - nwj) * math.log(2)", "1 + (plug_in - nwj)"),
            ("plug_in - mean_r / (math.e * math.log(2))", "plug_in - mean_r / math.e"),
            ("plug_in - mean_r / (math.e * math.log(2))", "nwj - mean_r / (math.e * math.log(2))"),
            ('share * frame["truth"] + (1 - share)', '(1 - share) * frame["truth"] + share'),
            ('plateaus(table, "large"), {}', 'plateaus(table, "held-out"), {}'),
        ],
    ),
    Group(
        "companion.experiments.staircase_live",
        "tests/test_staircase_live.py",
        "",
        [
            ("trainings=THREE)", "trainings=table.settings.trainings)"),
            ('beside(mine["value"], part, 0.0)', 'beside(mine["value"], part, 1.0)'),
        ],
    ),
    Group(
        "companion.experiments.live_check",
        "tests/test_live_check.py",
        "row_says or without_problems or none_are or each_estimator",
        [
            ("if len(kept) < 2:", "if len(kept) < 1:"),
            ("1 / len(live) + 1 / len(kept)", "1 / len(live)"),
            ('if not row["off"] <= WIDTH', 'if row["off"] > WIDTH'),
            ("if not far > WIDTH", "if not far > 1"),
            ("groupby(level=0).max()", "groupby(level=0).min()"),
            ('if len(found) else ["nothing was compared"]', "if True else []"),
        ],
    ),
    Group(
        "companion.experiments.protein_live",
        "tests/test_live_check.py",
        "on_proteins or tell_a_constant",
        [
            ("LIVE_TRIALS = (100, 101, 102, 103)", "LIVE_TRIALS = (100,)"),
            ("CHANCE, of_means=True", "CHANCE"),
        ],
    ),
    Group(
        "companion.experiments.slopes",
        "tests/test_slopes.py",
        "without_its_biases or small_sweep",
        [
            ("direction / direction.norm(dim=-1, keepdim=True)", "direction"),
            ("(far - near) / FAR", "far / FAR"),
            ("(far > FLAT).mean(-1)", "(far > FLAT).sum(-1)"),
        ],
    ),
    Group(
        "companion.claims.trained_slopes",
        "tests/test_slopes.py",
        "claim",
        [
            ('cases("share", "b64", "b16")', 'cases("share", "b64")'),
            ('"normalise-b64", sign=-1.0', '"normalise-b64"'),
            (
                'paired(share("b16", t), share("joint-b16", t))',
                'paired(share("b16", t), share("b16", t))',
            ),
        ],
    ),
    Group(
        "companion.experiments.staircase_ablations",
        "tests/test_staircase_ablations.py",
        "",
        [
            ('.query(f"seed < {seeds}")', '.query(f"seed >= 0")'),
            ('.partition(":")[2].split(",")', '.partition(":")[2].split(",")[-1:]'),
            ('_mean_rmse(large, f"{training}/dv")', '_mean_rmse(train, f"{training}/plug-in")'),
        ],
    ),
    Group(
        "companion.experiments.ssl_augment",
        "tests/test_ssl_parts.py",
        "view or crop or brightness or grey or jitter",
        [
            ("(1 - wide) * (2 * chance[:, 2] - 1)", "(1 - wide) * chance[:, 2]"),
            ("chance[:, 4] < 0.5, -wide, wide", "chance[:, 4] < 0.5, wide, wide"),
            ("torch.exp(math.log(4 / 3) * (chance[:, 1] - 0.5))", "torch.ones_like(area)"),
            ("chance[:, 0] < 0.8", "chance[:, 0] < 1"),
            ("zero, c, -s, zero, s, c", "zero, c, s, zero, s, c"),
            ("offset = bright * (1 - contrast) * mean", "offset = (1 - bright) * mean"),
        ],
    ),
    Group(
        "companion.experiments.ssl_losses",
        "tests/test_ssl_parts.py",
        "either or settings or written_out or both_ways or log_means or cka or times_b",
        [
            ('loss(scores, contrast="y")) / 2', 'loss(scores, contrast="x")) / 2'),
            ("return len(ratio) ** power * both_ways", "return both_ways"),
            ("partial(scaled_spherical, power=0.5)", "scaled_spherical"),
            ("others = negatives(model.mT)", "others = negatives(model)"),
            ("(part - part.mean(0) for part", "(part for part"),
            ("negatives(-2 * (2 - 2 * cosines))", "-2 * (2 - 2 * cosines)"),
        ],
    ),
    Group(
        "companion.experiments.ssl_sphere",
        "tests/test_ssl_parts.py",
        "mean_ratio",
        [
            ("2 * dim * temperature**2", "dim * temperature**2"),
            ("(z @ z.mT / temperature)", "(z @ z.mT * temperature)"),
            ("F.normalize(embeddings, dim=-1)", "embeddings"),
        ],
    ),
    Group(
        "companion.experiments.ssl_optim",
        "tests/test_ssl_parts.py",
        "lars or small_gradients or schedule",
        [
            (".clamp(max=1)", ""),
            ("rate * (g + decay * w)", "g + decay * w"),
            ("if p.ndim > 1 and rate > 0", "if rate > 0"),
            ("(step - warm_up) / (steps - warm_up)", "step / steps"),
        ],
    ),
    Group(
        "companion.experiments.ssl_probe",
        "tests/test_ssl_parts.py",
        "probe or fit or accuracies or constant",
        [
            ("ridge / 2 * weights[:-1]", "ridge * weights[:-1]"),
            ("min(5, scores.shape[1])", "1"),
            ("deviation > 1e-8", "deviation > -1"),
        ],
    ),
    Group(
        "companion.experiments.ranking",
        "tests/test_ranking.py",
        "",
        [
            ("np.unique(scores, return_inverse=True)[1]", "scores"),
            ("np.unique(scores, return_inverse=True)[1]", "np.argsort(np.argsort(scores))"),
            ("np.unique(scores, return_inverse=True)[1]", "np.argsort(np.argsort(-scores))"),
            ("keep = np.append(np.diff(false) > 0, True)", "keep = np.diff(false, prepend=-1) > 0"),
            ("1 / labels.sum()) - 1e-12", "1 / labels.sum()) + 1e-12"),
            ("np.maximum(grid, 1 / labels.sum())", "grid"),
            ("if np.isnan(scores).any():", "if False:"),
        ],
    ),
    Group(
        "companion.experiments.protein_protocols",
        "tests/test_proteins.py",
        "protocol or trials_differ",
        [
            ("held_out, replace=True)", "held_out, replace=False)"),
            ("2 * held_out, replace=False)", "2 * held_out, replace=True)"),
            ("usable = data.pairs[~touches(data.pairs, test)]", "usable = data.pairs"),
            ("train = usable[~for_validation]", "train = usable"),
            ("data.rows[np.unique(train)])", "data.rows)"),
            ("others = test[:, None] != test[None, :]", "others = np.ones_like(known)"),
            ("default_rng([20, trial])", "default_rng([20, 0])"),
            ("own = standardise(data.rows[drawn], data.rows[drawn])", "own = x[drawn]"),
            ("        data.pairs,\n        {", "        data.pairs[~outside],\n        {"),
            ("isin(test, data.pairs[:, 0])[:, None]", "isin(test, data.pairs[:, 1])[:, None]"),
        ],
    ),
    Group(
        "companion.experiments.protein_training",
        "tests/test_proteins.py",
        "alone or best_state or divided_out",
        [
            ("if value < member.loss:", "if True:"),
            ("self.optimiser.state[parameter] = memory[name]", "pass"),
            ("[:, list(places)].flatten(0, 1)", "[:, : len(places)].flatten(0, 1)"),
            ("[..., list(places), :]", "[..., : len(places), :]"),
            ("table + log_weight.double()[:, None]", "table"),
        ],
    ),
    Group(
        "companion.ratio_distribution",
        "tests/test_ratio_distribution.py",
        "attain or nats or refused or sampling",
        [
            ("decay.sum(1) ** (k - 1)", "decay.sum(1) ** k"),
            ("divergence + math.log(k) - integrand", "divergence + math.log(k) + integrand"),
            ("np.exp(-t[:, 0]) - (decay @ r)", "np.exp(-t[:, 0]) - decay.sum(1)"),
            ("(q[inside] * r[inside]) @ np.log", "q[inside] @ np.log"),
            ("-infonce(true_scores(generator)).f", "infonce(true_scores(generator)).f"),
            ("values.mean() / nats_per(unit)", "values.mean()"),
        ],
    ),
    Group(
        "companion.data.channel",
        "tests/test_data.py",
        "carries or fair or own_stream or never_shows or right_class or inverts",
        [
            ("torch.stack([labels, received])", "torch.stack([labels, labels])"),
            ("labels ^ (uniform[1, ..., 1:] <", "labels & (uniform[1, ..., 1:] <"),
            ("(2 * (1 - p)) ** equal", "(1 - p) ** equal"),
            ("(uniform[0, ..., 1:] < 0.5)", "(uniform[0, ..., 1:] < 0.4)"),
            ("group = labels + 2 * (fresh and self.held_out)", "group = labels"),
            ("place = labels + 2 * fresh", "place = labels + 0 * fresh"),
            ("1 - entropy(p) - rate", "entropy(p) - rate"),
            ("crossover(float(bits) / self.slots)", "crossover(float(bits) / (self.slots + 1))"),
        ],
    ),
    Group(
        "companion.data.images",
        "tests/test_data.py",
        "grid or picture or nuisance",
        [
            ("int(t[-1] - t[0]) + 1", "int(t[-1] - t[0])"),
            ("min(int(t[0]), len(matrix) - length)", "int(t[0])"),
            ("pick * slots + torch.arange(slots", "pick * slots + 0 * torch.arange(slots"),
            ("height, left : left + width] +=", "height, left : left + width] ="),
            ("key = id(table), slots", "key = 0, slots"),
            ("flatten(-2).clamp_(0, 1)", "flatten(-2)"),
        ],
    ),
    Group(
        "companion.experiments.staircase_tables",
        "tests/test_staircase_compare.py",
        "in_words or diverged or every_critic",
        [
            ('["value"].median()', '["value"].mean()'),
            (".pow(2).fillna(math.inf)", ".pow(2)"),
            ("min(math.sqrt(mean), DIVERGED)", "math.sqrt(mean)"),
        ],
    ),
    Group(
        "companion.evaluation",
        "tests/test_training.py",
        "in_bits or leaves_the_stream or fresh_data",
        [
            (
                "log_mean_exp(negatives(scores), 2)], -1) / math.log(2)",
                "log_mean_exp(negatives(scores), 2)], -1)",
            ),
            ("[-f(scores) for f", "[f(scores) for f"),
            ('stream("held-out", seed, s, device', 'stream("held-out", s, device'),
        ],
    ),
    Group(
        "companion.results",
        "tests/test_results.py",
        "intervals or partial or factors",
        [
            ("max(-most, min(most, logs[0][k] - logs[1][k]))", "logs[0][k] - logs[1][k]"),
            ("max(-most, min(most,", "max(0, min(most,"),
            ("if self.count == 1:", "if self.count < 3:"),
            ("stdtrit(len(values) - 1, (1 + level) / 2)", "stdtrit(len(values) - 1, level)"),
            ("values.std(ddof=1) / len(values) ** 0.5", "values.std() / len(values) ** 0.5"),
            ("self.low > 0 or self.high < 0", "self.low > 0"),
            ("a[key] - b[key] for key in shared", "b[key] - a[key] for key in shared"),
            ("len(self.there) == len(self.pieces)", "len(self.there) > 0"),
        ],
    ),
    Group(
        "companion.sweep",
        "tests/test_sweep.py",
        "once or another or failing",
        [
            ("if not _done(piece, piece.path(results))]", "]"),
            ('["config"] == json.loads(json.dumps(dict(piece.config)))', '["config"] is not None'),
            ("failed += error is not None", "failed += 0"),
        ],
    ),
    Group(
        "companion.workers",
        "tests/test_sweep.py",
        "lock or handler or a_line or stopping",
        [
            ("signal.signal(signal.SIGINT, ended.interrupt)", "pass"),
            ("self.interrupted = True", "self.interrupted = False"),
            ("if ended.interrupted:\n        raise KeyboardInterrupt", "if False:\n        pass"),
            ("before is not signal.default_int_handler", "False"),
            ("signal.signal(signal.SIGINT, before)", "pass"),
            ("contextlib.suppress(OSError):  # it", "contextlib.suppress(ValueError):  # it"),
        ],
    ),
    Group(
        "companion.progress",
        "tests/test_progress.py",
        "reports or knows or terminal",
        [
            ("now - self.told < EVERY", "now == self.told"),
            ("done <= self.before", "done < 0"),
            ("/ (done - self.before)", "/ done"),
            ("self.total - len(self.waiting) + sum", "self.total - sum"),
            ("if self.stream.isatty():\n            width", "if True:\n            width"),
        ],
    ),
    Group(
        "mi_lib.inference.folds",
        "tests/test_inference_parts.py",
        "folds_hold",
        [("Fold(rest[:training], rest[training:], part)", "Fold(rest[:training], rest, part)")],
    ),
    Group(
        "mi_lib.inference.encoding",
        "tests/test_inference_parts.py",
        "normal_scores or equal_values or indicators",
        [
            ("ranks = np.cumsum(counts) - (counts - 1) / 2", "ranks = np.cumsum(counts)"),
            ("return inner + REACH * beyond / (1 + np.abs(beyond))", "return inner"),
            ("np.maximum(np.sqrt(self.shares * (1 - self.shares)), RARE)", "self.shares"),
            ("(1 - self.shares)), RARE)", "(1 - self.shares)), 0.01)"),
            (" & (self.shares > 0)", ""),
        ],
    ),
    Group(
        "mi_lib.inference.ratio_limits",
        "tests/test_inference_parts.py",
        "limits",
        [
            ("return -np.log(counts / counts.sum())", "return -np.log(counts)"),
            ('known = self.x if which == "x" else self.y', "known = self.y"),
            ("-math.log(len(training))", "math.log(len(training))"),
        ],
    ),
    Group(
        "mi_lib.inference.splits",
        "tests/test_inference_parts.py",
        "limits",
        [
            (
                "np.minimum(self.most_x[rows][:, None], self.most_y[rows][to])",
                "np.maximum(self.most_x[rows][:, None], self.most_y[rows][to])",
            ),
        ],
    ),
    Group(
        "mi_lib.inference.parametric",
        "tests/test_inference_parts.py",
        "true_dispersion or canonical or from_counts or from_classes",
        [
            ("shared -= np.log(rest).sum() / 4", "shared -= np.log(rest).sum() / 2"),
            ("len(self.x_white) + len(self.y_white)) / 2", "len(self.x_white)) / 2"),
            ("special.ndtr(-np.abs(z)), freedom)", "special.ndtr(-np.abs(z)), freedom + 1)"),
            ("np.where(rho**2 > edge,", "np.where(rho**2 > 0,"),
            ("/ (len(training) + prior) / expected", "/ (len(training) + prior)"),
            ("return Side(log - whole, zero, zero)", "return Side(log, zero, zero)"),
        ],
    ),
    Group(
        "mi_lib.inference.network",
        "tests/test_inference_parts.py",
        "fast_loss or network or combined",
        [
            ("anchor = ((b - 1) * torch.exp(-shift))", "anchor = torch.exp(-shift)"),
            ("((-2, fewer[1]), (-1, fewer[0]))", "((-2, fewer[0]), (-1, fewer[1]))"),
            ("(with_pair + without).mean(-1) / 4", "(with_pair + without).mean(-1) / 2"),
            ("last[: len(self.seeds)] = 0  # f and a", "pass"),
            ("f[..., -1:] + g[..., -1:].mT", "f[..., -1:] - g[..., -1:].mT"),
        ],
    ),
    Group(
        "mi_lib.inference.calibration",
        "tests/test_inference_parts.py",
        "calibration_undoes or calibration_turns",
        [
            (
                "zip(blocks, weights, (-1, 1), strict=True)",
                "zip(blocks, weights, (1, -1), strict=True)",
            ),
            ("return scores @ a[:-1] + a[-1]", "return scores @ a[:-1]"),
        ],
    ),
    Group(
        "mi_lib.inference.uncertainty",
        "tests/test_inference_parts.py",
        "spread_of_independent or interval_widens or growth_is",
        [
            ("self.gain if self.gain > 2 * self.error else 0.0", "self.gain"),
            ("max(0.0, value + growth.added)", "max(0.0, value)"),
            ("max(0.0, value + growth.added)", "value + growth.added"),
            ("- max(0.0, half.mean())", "- half.mean()"),
            ("* spread.total + abs(growth.gain)", "* spread.total"),
            ("pairs = values.var(ddof=1) / n", "pairs = values.var(ddof=1)"),
        ],
    ),
    Group(
        "mi_lib.inference.table",
        "tests/test_table.py",
        "refused_with or other_forms or narrow or by_place",
        [
            ("np.ma.is_masked(values)", "False"),
            ("values.detach().to_dense()", "values.detach()"),
            ("len(by_name) == len(fitted)", "False"),
        ],
    ),
    Group(
        "mi_lib.inference.storage",
        "tests/test_estimator.py",
        "were_renamed",
        [
            ('{"letters": "symbol_side"}', '{"symbol_side": "symbol_side"}'),
            ("if names.keys() <= own.keys()", ""),
        ],
    ),
    Group(
        "companion.experiments.protein_tables",
        "tests/test_protein_tables.py",
        "corrected or fewer_proteins or star or stopped",
        [
            ('{"published": 1, "clean": 2}', '{"published": 1, "clean": 1}'),
            ("+ tested / trained", "+ 0 * tested / trained"),
            ("if gap.excludes_zero else", "if gap.mean > 0 else"),
            ("(step == steps.min()).mean()", "(step == steps.max()).mean()"),
        ],
    ),
    Group(
        "mi_lib.inference.lower_bound",
        "tests/test_inference_parts.py",
        "blocks_of or bernstein or lower_bound",
        [
            ("return reached - paid + 1,", "return reached - paid,"),
            (
                "return reached - paid + 1, 2 * level + 2",
                "return reached - paid + 1, 2 * level + 1",
            ),
            (
                " - margin)\n\n\ndef blocks",
                ")\n\n\ndef blocks",
            ),
        ],
    ),
    Group(
        "mi_lib.inference.permutation",
        "tests/test_inference_parts.py",
        "permutation_test",
        [
            ("(1 + reached.sum()) / (1 + permutations)", "reached.sum() / permutations"),
            ("drawn >= observed - 1e-9", "drawn > observed + 1e-9"),
        ],
    ),
    Group(
        "mi_lib.inference.baselines",
        "tests/test_inference_parts.py",
        "ksg_against or baselines_on",
        [
            ("digamma(k) + digamma(n)", "digamma(k + 1) + digamma(n)"),
            ("near = np.nextafter(distance, 0)", "near = np.nextafter(distance, np.inf)"),
            ("-0.5 * np.log1p(", "-np.log1p("),
        ],
    ),
    Group(
        "companion.data.registry",
        "tests/test_data.py",
        "download or network or bar or https or address or variable or refused or there",
        [
            ("retry_if_failed=TRIES - 1", "retry_if_failed=0"),
            ("if not _path(f).is_file()]", "]"),
            ("timeout=SECONDS", "timeout=None"),
            ("progressbar=sys.stderr.isatty()", "progressbar=False"),
            ("_path(file).chmod(0o644)", "pass"),
            ("registry={file.path: file.sha256 for", "registry={file.path: None for"),
            ('if self.url and not self.url.startswith("https://")', "if False"),
            ("if not file.url:", "if False:"),
            ("if found != file.sha256", "if False"),
            ('if named := os.environ.get("MI_DATA")', 'if named := ""'),
        ],
    ),
    Group(
        "companion.data.elliptical",
        "tests/test_suite.py",
        "known_values or student",
        [
            ("2 * term(d) - term(2 * d) - term(0)", "2 * term(d) - term(2 * d)"),
            (
                "(parts[0] + parts[1] - parts[2]) / 2",
                "(parts[0] + parts[1] - parts[2])",
            ),
        ],
    ),
    Group(
        "tools.readme",
        "tests/test_wheel.py",
        "page or closed or stands_in",
        [
            ('and " --" in span', ""),
            ("(folder / names[0]).exists()", "False"),
            ("if opened is not None:", "if False:"),
            ('"marked no-run" if NO_RUN in words else ""', '""'),
        ],
    ),
    Group(
        "tools.wheel",
        "tests/test_wheel.py",
        "holds_all or small or declared or followed or example or says_something",
        [
            ("    if strange:", "    if False:"),
            ("modules - own", "set()"),
            ("lines > MOST_LINES", "lines > 2 * MOST_LINES"),
            ("(optional if inside else needed)", "optional"),
            ('EXTRAS = ("figures", "parquet")', 'EXTRAS = ("figures", "book")'),
            ("inside or function", "True"),
            ("if not done.stdout.strip():", "if False:"),
            ("done.returncode not in good", "False"),
        ],
    ),
]
