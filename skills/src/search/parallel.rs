//! The same for each of many things, on every core.

use std::num::NonZero;
use std::thread;

/// For fewer a thread costs more than it saves.
const WORTH_A_THREAD: usize = 64;

/// What is made of each, in order.
pub(super) fn side_by_side<T: Sync, U: Send>(
    things: &[T],
    make: impl Fn(&T) -> U + Sync,
) -> Vec<U> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = things.len().div_ceil(cores).max(WORTH_A_THREAD);
    let make = &make;
    let part = move |things: &[T]| things.iter().map(make).collect::<Vec<U>>();
    if things.len() <= share {
        return part(things);
    }
    thread::scope(|scope| {
        let workers: Vec<_> = things
            .chunks(share)
            .map(|things| scope.spawn(move || part(things)))
            .collect();
        let parts = workers.into_iter().map(|worker| worker.join());
        // A panic goes on where it would have without threads.
        parts
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::side_by_side;

    #[test]
    fn what_is_made_stands_in_order_however_many_there_are() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let numbers: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = numbers.iter().map(|number| 2 * number).collect();
            assert_eq!(side_by_side(&numbers, |number| 2 * number), doubled);
        }
    }
}
