"""Views, objectives, LARS, networks and the probe, each against what it should be."""

import math

import kornia
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from sklearn.linear_model import LogisticRegression

from companion.experiments import ssl_losses, ssl_sphere, ssl_symmetry
from companion.experiments.ssl_augment import CHANCES, LUMA, crop, recolour, view
from companion.experiments.ssl_losses import OBJECTIVES, alignment, get, linear_cka, uniformity
from companion.experiments.ssl_networks import Encoder, ResNet, make_encoder
from companion.experiments.ssl_optim import Lars, rate_at, trust
from companion.experiments.ssl_probe import accuracies, fit, probe, quick_probe, standardise
from companion.experiments.ssl_start import alpha_sweep, score_gradient, trained_cosines


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def pictures(count=4, side=16):
    some = torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(1))
    return (255 * some).byte()


# Views: chances are area, shape, place x, place y, mirror; jitter, brightness, contrast,
# saturation, hue, grey. 0.5 in a factor leaves a picture as it is.
STILL = torch.tensor([1, 0.5, 0.5, 0.5, 0.9, 0.1, 0.5, 0.5, 0.5, 0.5, 0.9])


NAMES = ("area", "shape", "x", "y", "mirror")
NAMES += ("jitter", "brightness", "contrast", "saturation", "hue", "grey")


def changed(**changes):
    chance = STILL.clone()
    for name, value in changes.items():
        chance[NAMES.index(name)] = value
    return chance.expand(4, CHANCES)


def test_a_view_can_be_the_picture_itself():
    torch.testing.assert_close(view(pictures(), changed()), pictures().float() / 255)


def test_a_mirrored_view():
    found = view(pictures(), changed(mirror=0.1))
    torch.testing.assert_close(found, pictures().flip(-1).float() / 255)


def test_a_crop_is_the_part_it_says():
    """A quarter of the area: the right half of the ramp, then the left."""
    ramp = torch.arange(16.0).expand(4, 1, 16, 16) / 16
    chance = changed(area=0.0, x=1.0, y=1.0)[:, :5]
    found = crop(ramp, chance, 0.25)[0, 0, 5]
    expected = (np.arange(16) - 0.5)[1:-1] / 32
    np.testing.assert_allclose(found[1:-1], 0.5 + expected, atol=1e-5)
    left = crop(ramp, changed(area=0.0, x=0.0, y=1.0)[:, :5], 0.25)[0, 0, 5]
    np.testing.assert_allclose(left[1:-1], expected, atol=1e-5)


def test_a_crop_is_kornias():
    """Away from the border, where kornia's slice repeats the edge and ours sees its neighbour."""
    torch.manual_seed(3)
    random = kornia.augmentation.RandomResizedCrop(
        (16, 16), (0.25, 0.25), (1.0, 1.0), align_corners=False, cropping_mode="slice"
    )
    some = pictures().float() / 255
    expected = random(some)
    corners = random._params["src"][:, 0]
    assert len(corners.unique(dim=0)) > 1
    for picture, corner, one in zip(some, corners, expected, strict=True):
        chance = changed(area=0.0, x=corner[0] / 8, y=corner[1] / 8)[:1, :5]
        found = crop(picture[None], chance, 0.25)[0]
        torch.testing.assert_close(found[:, 2:-2, 2:-2], one[:, 2:-2, 2:-2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("brightness", lambda v: kornia.enhance.adjust_brightness_accumulative(v, 1.4)),
        ("contrast", lambda v: kornia.enhance.adjust_contrast_with_mean_subtraction(v, 1.4)),
        ("saturation", lambda v: kornia.enhance.adjust_saturation_with_gray_subtraction(v, 1.4)),
        ("grey", lambda v: kornia.color.rgb_to_grayscale(v).expand_as(v)),
    ],
)
def test_colours_are_kornias(name, expected):
    """Hue is not among them: kornia turns it in HSV, we in YIQ, which keeps the brightness."""
    soft = 0.3 + 0.3 * pictures().float() / 255  # so that nothing is clamped
    chance = changed(**{name: 0.1 if name == "grey" else 0.75})
    torch.testing.assert_close(recolour(soft, chance[:, 5:]), expected(soft))


def test_crops_cover_between_the_smallest_and_all():
    """The slope of a resized ramp is the width of the crop."""
    ramp = torch.arange(64.0).expand(2000, 1, 64, 64) / 64
    chance = torch.rand(2000, 5, generator=torch.Generator().manual_seed(2))
    chance[:, 4] = 1.0
    found = crop(ramp, chance, 0.08)[:, 0]
    wide = (found[:, 32, 40] - found[:, 32, 24]) / 0.25
    high = crop(ramp.mT, chance, 0.08)[:, 0]
    high = (high[:, 40, 32] - high[:, 24, 32]) / 0.25
    area = wide * high
    assert 0.079 < area.min() < 0.1
    assert 0.95 < area.max() < 1.001
    assert abs(area.mean() - 0.54) < 0.03
    ratio = wide / high
    assert 0.74 < ratio.min() < 0.77
    assert 1.3 < ratio.max() < 1.34


def test_brightness_and_contrast():
    values = pictures().float() / 255
    dark = view(pictures(), changed(brightness=0.25))
    torch.testing.assert_close(dark, 0.6 * values)
    flat = view(pictures(), changed(contrast=0.0))
    mean = (values.mean((2, 3)) @ torch.tensor(LUMA))[:, None, None, None]
    torch.testing.assert_close(flat, 0.2 * values + 0.8 * mean, rtol=1e-4, atol=1e-5)


def test_grey_saturation_and_hue():
    values = pictures().float() / 255
    luma = torch.einsum("c,bchw->bhw", torch.tensor(LUMA), values)[:, None].expand(-1, 3, -1, -1)
    torch.testing.assert_close(view(pictures(), changed(grey=0.1)), luma, rtol=1e-4, atol=1e-4)
    pale = view(pictures(), changed(saturation=0.0))
    torch.testing.assert_close(pale, 0.2 * values + 0.8 * luma, rtol=1e-4, atol=1e-4)
    soft = 0.4 + 0.2 * values  # so that nothing is clamped
    turned = recolour(soft, changed(hue=1.0)[:, 5:])
    brightness = torch.tensor(LUMA)
    for before, after in zip(soft, turned, strict=True):
        old = torch.einsum("c,chw->hw", brightness, before)
        new = torch.einsum("c,chw->hw", brightness, after)
        torch.testing.assert_close(new, old, rtol=1e-3, atol=1e-4)
    assert (turned - soft).abs().max() > 0.01
    back = recolour(turned, changed(hue=0.0)[:, 5:])
    torch.testing.assert_close(back, soft, rtol=1e-3, atol=1e-4)
    whites = torch.full((4, 3, 2, 2), 0.5)
    torch.testing.assert_close(recolour(whites, changed(hue=1.0)[:, 5:]), whites)


def test_without_jitter_only_grey_is_left():
    found = view(pictures(), changed(jitter=0.1, brightness=1.0, hue=1.0, saturation=0.0))
    # jitter below 0.8 is jittered; above it nothing happens
    assert (found - pictures().float() / 255).abs().max() > 0.1
    still = view(pictures(), changed(jitter=0.85, brightness=1.0, hue=1.0, saturation=0.0))
    torch.testing.assert_close(still, pictures().float() / 255)


# Objectives


@pytest.mark.parametrize("name", OBJECTIVES)
def test_either_view_may_come_first(name):
    x, y = draw(6, 5), draw(6, 5, seed=1)
    torch.testing.assert_close(get(name)(x, y), get(name)(y, x))


def test_the_papers_settings():
    assert {name: o.temperature for name, o in OBJECTIVES.items() if o.temperature != 0.2} == {
        "chi-square": 0.1
    }
    assert {name for name, o in OBJECTIVES.items() if o.pd} == {
        "spherical",
        "chi-square",
        "spherical-root",
        "spherical-scaled",
    }
    x, y = draw(5, 3), draw(5, 3, seed=1)
    cosine = F.cosine_similarity(x[:, None], y[None], dim=-1)
    torch.testing.assert_close(get("anchor").model(x, y), cosine / 0.2)
    with pytest.raises(ValueError, match="choose one of anchor"):
        get("clip")


def test_the_spherical_loss_of_table_6_written_out():
    """K/(K + 1) E[-r_1 / |(1, r)|] + 1/(K + 1) E[-1 / |(1, r)|], either view contrasting; K = 2."""
    r, found = draw(3, 3).exp(), 0.0
    for rows in (r, r.mT):  # rows share what is contrasted
        for own, one, two in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            pair = math.hypot(1, rows[own, own], rows[own, one])
            strangers = math.hypot(1, rows[own, one], rows[own, two])
            found -= (2 * float(rows[own, own]) / pair + 1 / strangers) / 3 / 6
    assert float(get("spherical-root").loss(r)) == pytest.approx(found)


def test_infonce_written_out():
    x, y = draw(4, 3), draw(4, 3, seed=1)
    c = get("infonce").model(x, y)
    rows = -(c.diagonal() - c.exp().mean(1).log()).mean()
    columns = -(c.diagonal() - c.exp().mean(0).log()).mean()
    torch.testing.assert_close(get("infonce")(x, y), (rows + columns) / 2)


def test_contrasting_both_ways_leaves_a_constant_free_and_no_function():
    """One-sided InfoNCE cannot see C(y); the symmetric loss sees it unless it is constant."""
    scores, free = draw(6, 6), 3 * draw(6, seed=1)
    one_sided = ssl_losses.objectives.infonce
    torch.testing.assert_close(one_sided(scores + free), one_sided(scores))
    loss = get("infonce").loss
    assert abs(loss(scores + free) - loss(scores)) > 0.05
    torch.testing.assert_close(loss(scores + 3.0), loss(scores))
    anchored = get("anchor").loss
    assert abs(anchored(scores + 3.0) - anchored(scores)) > 0.05


def test_log_means_find_c_of_y():
    scores, free = torch.zeros(5, 5, dtype=torch.float64), draw(5)
    torch.testing.assert_close(get("infonce").log_means(scores + free), free)
    ratios = free.abs().expand(5, 5)
    torch.testing.assert_close(get("chi-square").log_means(ratios), free.abs().log())
    assert get("spherical").log_means(-ratios).isnan().all()


def test_cka_alignment_uniformity():
    x = draw(50, 4)
    turn = torch.linalg.qr(draw(4, 4, seed=2))[0]
    assert linear_cka(x, 3 * x @ turn + 1) == pytest.approx(1)
    assert linear_cka(x, draw(50, 4, seed=3)) < 0.3
    assert alignment(x, 2 * x) == pytest.approx(0)
    assert alignment(x, -x) == pytest.approx(4)
    assert uniformity(torch.ones(5, 3, dtype=torch.float64)) == pytest.approx(0)
    assert uniformity(torch.eye(5, dtype=torch.float64)) == pytest.approx(-4)


# The first step


@pytest.mark.parametrize("batch", [8, 32])
def test_at_equal_scores_every_alpha_has_the_log_gradient_over_k_plus_1(batch):
    ratios = alpha_sweep(torch.zeros(batch, batch))
    np.testing.assert_allclose(ratios, 1 / batch, rtol=1e-9)
    trained = alpha_sweep(trained_cosines(batch))
    assert trained.max() > 2 * trained.min()


def test_times_b_the_spherical_gradient_is_the_log_one_but_for_the_factorisation():
    """At r = 1 the PD model moves log r by 1 / tau, as the PMI model does: then they agree."""
    equal = torch.full((16, 16), 0.2, dtype=torch.float64)  # r = cos / tau = 1
    log = score_gradient(get("anchor"), torch.zeros(16, 16))
    assert score_gradient(get("spherical-scaled"), equal) == pytest.approx(log)
    assert score_gradient(get("spherical"), equal) == pytest.approx(log / 16)
    assert score_gradient(get("spherical-root"), equal) == pytest.approx(log / 4)
    near = torch.full((16, 16), 0.8, dtype=torch.float64)
    assert score_gradient(get("spherical-scaled"), near) < log / 3


# LARS


def test_lars_written_out():
    weight, bias = draw(3, 2).requires_grad_(), draw(3, seed=1).requires_grad_()
    optimiser = Lars([weight, bias], 0.4, momentum=0.5, decay=0.1, eta=0.02)
    w, b = weight.detach().clone(), bias.detach().clone()
    v, u = torch.zeros_like(w), torch.zeros_like(b)
    for step in range(3):
        weight.grad, bias.grad = draw(3, 2, seed=5 + step), draw(3, seed=9 + step)
        optimiser.step()
        g = weight.grad
        factor = 0.02 * w.norm() / (g.norm() + 0.1 * w.norm()) / 0.4
        assert factor < 1
        v = 0.5 * v + factor * (g + 0.1 * w)
        u = 0.5 * u + bias.grad
        w, b = w - 0.4 * v, b - 0.4 * u
    torch.testing.assert_close(weight.detach(), w)
    torch.testing.assert_close(bias.detach(), b)


def test_small_gradients_are_not_blown_up():
    weight = draw(3, 2).requires_grad_()
    weight.grad = 1e-6 * draw(3, 2, seed=1)
    before = weight.detach().clone()
    assert trust(weight.detach(), weight.grad, 0.4, 0.02, 0.0) > 1
    Lars([weight], 0.4, decay=0.0).step()
    torch.testing.assert_close(weight.detach(), before - 0.4 * weight.grad)


def test_the_schedule():
    rates = [rate_at(step, 100, 10, 0.4) for step in range(100)]
    assert rates[10] == max(rates) == 0.4
    assert rates[0] == 3e-5
    assert rates[5] == pytest.approx(0.2, abs=1e-3)
    assert rates[55] == pytest.approx(0.2)
    assert rates[-1] < 1e-3
    assert all(b < a for a, b in zip(rates[10:], rates[11:], strict=False))


# Networks


def test_resnet_18_for_small_pictures_has_its_known_size():
    body = ResNet()
    assert sum(p.numel() for p in body.parameters()) == 11_168_832
    assert body.features == 512
    with torch.device("meta"):
        small = Encoder(ResNet(8, (1, 1, 1)), 16, 4)
    assert small(torch.empty(2, 3, 32, 32, device="meta")).shape == (2, 4)


def test_weights_depend_on_the_seed_alone():
    before = torch.get_rng_state()
    first, second = (make_encoder(7, 4, (1,), 1, hidden, 3) for hidden in (8, 0))
    assert torch.equal(torch.get_rng_state(), before)
    for a, b in zip(first.body.parameters(), second.body.parameters(), strict=True):
        assert torch.equal(a, b)
    other = make_encoder(8, 4, (1,), 1, 8, 3)
    assert not torch.equal(first.body.stem.weight, other.body.stem.weight)


def test_half_resolution_at_the_stem():
    x = draw(2, 3, 16, 16, dtype=torch.float32)
    assert ResNet(4, (1,), 2).stem(x).shape[-1] == 8
    assert ResNet(4, (1, 1, 1), 1)(x).shape == (2, 16)


# The probe


def three_classes(count, seed):
    labels = torch.arange(count) % 3
    centres = torch.tensor([[0.0, 0, 0, 5], [2, 0, 0, 5], [0, 2, 0, 5]], dtype=torch.float64)
    return centres[labels] + draw(count, 4, seed=seed) * torch.tensor([1, 1, 1, 0]), labels


def test_the_fit_is_logistic_regression():
    x, y = three_classes(200, 0)
    x = standardise(x, x)[0]
    weights = fit(x, y, 3, ridge=0.05)
    oracle = LogisticRegression(C=1 / (0.05 * len(x)), tol=1e-8, max_iter=1000).fit(x, y)
    found = (x @ weights[:-1] + weights[-1]).softmax(-1)
    np.testing.assert_allclose(found, oracle.predict_proba(x), atol=2e-3)


def test_the_probe_reads_what_is_there_and_nothing_else():
    x, y = three_classes(600, 0)
    test_x, test_y = three_classes(300, 1)
    top1, top5 = probe(x, y, test_x, test_y, 3)
    assert 70 < top1 < 95
    assert top5 == 100
    assert 65 < quick_probe(x, y, test_x, test_y, 3) < 95
    noise = draw(600, 4, seed=5), y, draw(300, 4, seed=6), test_y, 3
    assert probe(*noise)[0] < 45
    assert quick_probe(*noise) < 45


def test_accuracies_count():
    weights = torch.cat([torch.eye(8), torch.zeros(1, 8)])
    features = torch.arange(8.0).expand(8, 8)  # class 7 first, then 6, 5, ...
    top1, top5 = accuracies(weights, features, torch.arange(8))
    assert (top1, top5) == (12.5, 62.5)


def test_constant_features_do_no_harm():
    x = torch.ones(4, 2)
    assert torch.equal(standardise(x, x + 1)[1], torch.zeros(4, 2))
    assert math.isfinite(quick_probe(x, torch.arange(4) % 2, x, torch.arange(4) % 2, 2))


# The free scale


def test_only_the_one_sided_loss_leaves_a_function_free():
    law = ssl_symmetry.symmetric_law(4, 0)
    assert torch.equal(law, law.mT)
    free = draw(4)
    found = ssl_symmetry.excess(law, free)
    assert found["one-sided"] == pytest.approx(0, abs=1e-12)
    assert found["both ways"] > 0.01
    constant = ssl_symmetry.excess(law, torch.ones(4, dtype=torch.float64))
    assert constant["both ways"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("contrast", ["x", "y"])
def test_the_exact_loss_is_the_mean_of_the_batch_loss(contrast):
    """Against a loop over all draws of two pairs, with the loss of the first as own."""
    law, critic = ssl_symmetry.symmetric_law(3, 1), draw(3, 3, seed=2)
    total = 0.0
    for x1 in range(3):
        for y in range(3):
            for other in range(3):
                own = critic[x1, y]
                rival = critic[other, y] if contrast == "x" else critic[x1, other]
                weight = law[x1, y] * law.sum(1)[other]
                total += weight * -torch.log(own.exp() / ((own.exp() + rival.exp()) / 2))
    assert ssl_symmetry.exact_infonce(critic, law, contrast) == pytest.approx(float(total))
    better = ssl_symmetry.log_ratio(law)
    assert ssl_symmetry.exact_infonce(better, law, contrast) < float(total)


def test_the_mean_ratio_of_points_on_the_axes_in_closed_form():
    """cos is 1 and -1 once in 2 d, else 0."""
    found = float(ssl_sphere.mean_ratio(ssl_sphere.cross_polytope(3), 0.5))
    assert found == pytest.approx(1 - 1 / 3 + math.cosh(2) / 3)
    assert ssl_sphere.least_mean_ratio(3, 0.5) == pytest.approx(1 + 2 / 3)


def test_an_attack_lowers_the_mean_ratio_but_not_below_the_bound():
    points = draw(6, 3)
    attacked = ssl_sphere.spread(points, 0.5, 200)
    before, after = (float(ssl_sphere.mean_ratio(p, 0.5)) for p in (points, attacked))
    best = float(ssl_sphere.mean_ratio(ssl_sphere.cross_polytope(3), 0.5))
    assert ssl_sphere.least_mean_ratio(3, 0.5) < after < before
    assert after == pytest.approx(best, rel=1e-3), "six points find the axes, up to a rotation"
    assert float(ssl_sphere.mean_ratio(7 * points, 0.5)) == pytest.approx(before)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_must_be_positive(temperature):
    with pytest.raises(ValueError, match="temperature"):
        ssl_sphere.least_mean_ratio(3, temperature)
