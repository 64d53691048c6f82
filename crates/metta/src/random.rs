//! Generators of random numbers: plain data in a table of the runner, so that a run can be stored and taken up again.
//!
//! 1. A generator is its source: the world, which is asked once for each number, or a seed and how many were drawn.
//! 2. Number `k` of a seed is a pure function of the two: [SplitMix64](https://doi.org/10.1145/2660193.2660195), a
//!    counter mixed by a bijection, begun at the mixed seed, so that neighbouring seeds have nothing in common.
//! 3. A number below a bound is the high half of a product; draws that would favour some numbers are drawn again
//!    (Lemire 2019). A float has 53 of the bits.
//!
//! From a few numbers of a seed all others can be computed: these are for simulation, not for secrets.

use crate::world::{World, WorldError};
use serde::{Deserialize, Serialize};

/// Where the numbers of a generator come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generator {
    /// Each is asked of the world.
    World,
    /// Each follows from the seed and the number of those before it.
    Seeded {
        /// The seed.
        seed: u64,
        /// How many were drawn.
        drawn: u64,
    },
}

impl Generator {
    /// The generator of a seed, nothing drawn yet.
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded { seed, drawn: 0 }
    }

    /// The next 64 bits.
    ///
    /// # Errors
    /// When the world has none.
    pub fn draw(&mut self, world: &mut dyn World) -> Result<u64, WorldError> {
        match self {
            Self::World => world.random(),
            Self::Seeded { seed, drawn } => {
                *drawn = drawn.wrapping_add(1);
                Ok(mixed(*seed, *drawn))
            }
        }
    }

    /// A number below a bound, each as likely as the other.
    ///
    /// # Errors
    /// When the world has none.
    ///
    /// # Panics
    /// When the bound is 0.
    pub fn below(&mut self, bound: u64, world: &mut dyn World) -> Result<u64, WorldError> {
        assert!(bound > 0, "some number is below the bound");
        // How many of the 2^64 values are left over when they are shared out evenly.
        let rest = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.draw(world)?) * u128::from(bound);
            if product as u64 >= rest {
                return Ok((product >> 64) as u64);
            }
        }
    }

    /// A float from `low` on and below `high`, both finite and `low` the smaller.
    ///
    /// # Errors
    /// When the world has none.
    pub fn between(&mut self, low: f64, high: f64, world: &mut dyn World) -> Result<f64, WorldError> {
        const STEPS: f64 = (1_u64 << 53) as f64;
        let share = (self.draw(world)? >> 11) as f64 / STEPS;
        let width = high - low;
        let value = if width.is_finite() { low + width * share } else { low * (1.0 - share) + high * share };
        // Rounding may reach the upper bound, which is outside.
        Ok(value.clamp(low, high.next_down()))
    }
}

/// Number `count` of a seed, counted from 1.
pub(crate) fn mixed(seed: u64, count: u64) -> u64 {
    mix(mix(seed).wrapping_add(count.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::Generator;
    use crate::MemoryWorld;

    /// How often each of a few numbers is drawn.
    fn counts(mut draw: impl FnMut() -> usize, kinds: usize, draws: usize) -> Vec<usize> {
        let mut counts = vec![0; kinds];
        (0..draws).for_each(|_| counts[draw()] += 1);
        counts
    }

    /// Whether counts differ from equal shares as much as chance has it: five standard deviations at most.
    fn are_even(counts: &[usize]) -> bool {
        let share = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        counts.iter().all(|&count| (count as f64 - share).abs() < 5.0 * share.sqrt())
    }

    #[test]
    fn integers_are_uniform() {
        let mut world = MemoryWorld::default();
        for bound in [2, 3, 7, 10, 1000] {
            for mut generator in
                [Generator::World, Generator::seeded(0), Generator::seeded(1), Generator::seeded(u64::MAX)]
            {
                let mut draw = || generator.below(bound, &mut world).expect("there are numbers") as usize;
                let counts = counts(&mut draw, bound as usize, 100_000);
                assert!(are_even(&counts), "{generator:?} below {bound}: {counts:?}");
            }
        }
    }

    #[test]
    fn no_number_of_a_large_range_is_favoured() {
        // Of 3 * 2^62 values the lower third would come up half of the time if 2^64 values were just wrapped.
        let (mut world, mut generator) = (MemoryWorld::default(), Generator::seeded(9));
        let mut draw = || (generator.below(3 << 62, &mut world).expect("there are numbers") >> 62) as usize;
        assert!(are_even(&counts(&mut draw, 3, 100_000)));
    }

    #[test]
    fn floats_are_uniform_and_below_the_end() {
        let (mut world, mut generator) = (MemoryWorld::default(), Generator::seeded(3));
        let mut draw = |low: f64, high: f64| {
            let value = generator.between(low, high, &mut world).expect("there are numbers");
            assert!(low <= value && value < high, "{low} {value} {high}");
            value
        };
        assert!(are_even(&counts(|| (draw(-1.0, 1.0) * 10.0 + 10.0) as usize, 20, 100_000)));
        assert!(are_even(&counts(|| (draw(-1.6e308, 1.6e308) / 0.4e308 + 4.0) as usize, 8, 100_000)));
        for (low, high) in [(0.0, f64::from_bits(1)), (1.0, 1.0_f64.next_up()), (f64::MIN, f64::MAX), (-0.0, 1e-300)] {
            assert!((0..1000).all(|_| draw(low, high) < high));
        }
    }

    #[test]
    fn a_number_follows_from_the_seed_and_its_place() {
        let mut world = MemoryWorld::default();
        let mut generator = Generator::seeded(5);
        let drawn: Vec<u64> = (0..20).map(|_| generator.draw(&mut world).expect("there are numbers")).collect();
        assert_eq!(generator, Generator::Seeded { seed: 5, drawn: 20 });
        for (place, expected) in drawn.iter().enumerate() {
            let mut there = Generator::Seeded { seed: 5, drawn: place as u64 };
            assert_eq!(there.draw(&mut world).as_ref(), Ok(expected));
        }
        let mut neighbour = Generator::seeded(6);
        assert!((0..20).all(|_| !drawn.contains(&neighbour.draw(&mut world).expect("there are numbers"))));
    }

    #[test]
    fn neighbouring_seeds_have_nothing_in_common() {
        let mut world = MemoryWorld::default();
        let mut first = |seed| Generator::seeded(seed).below(10, &mut world).expect("there are numbers") as usize;
        let mut seed = 0;
        let draw = || {
            seed += 1;
            first(seed)
        };
        assert!(are_even(&counts(draw, 10, 100_000)));
    }
}
