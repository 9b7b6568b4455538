//! The same for each of many things, on every core.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many a thread takes at a time: things that take long stand beside each other.
const AT_A_TIME: usize = 16;

/// For fewer a thread costs more than it saves.
const WORTH_A_THREAD: usize = 4 * AT_A_TIME;

/// What is made of each, in order.
pub(crate) fn side_by_side<T: Sync, U: Send>(
    things: &[T],
    make: impl Fn(&T) -> U + Sync,
) -> Vec<U> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cores.min(things.len() / WORTH_A_THREAD + 1);
    if workers == 1 {
        return things.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            let Some(things) = things.chunks(AT_A_TIME).nth(part) else {
                return made;
            };
            made.push((part, things.iter().map(&make).collect::<Vec<U>>()));
        }
    };
    let mut made: Vec<(usize, Vec<U>)> = thread::scope(|scope| {
        let workers: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for worker in workers {
            // A panic goes on where it would have without threads.
            made.extend(
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        made
    });
    made.sort_by_key(|(part, _)| *part);
    made.into_iter().flat_map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::side_by_side;

    #[test]
    fn what_is_made_stands_in_order_however_many_there_are() {
        for count in [0, 1, 15, 16, 17, 63, 64, 65, 1_000] {
            let numbers: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = numbers.iter().map(|number| 2 * number).collect();
            assert_eq!(side_by_side(&numbers, |number| 2 * number), doubled);
        }
    }
}
