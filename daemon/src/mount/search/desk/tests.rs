use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::{Desk, QUEUED, WORKERS};
use crate::mount::refusal::Refusal;
use crate::mount::search::answers::Answer;
use crate::mount::search::oracle::Oracle;

const DIRECTORY: u64 = 7;

/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(20);

type Replied = Receiver<Result<Arc<Answer>, Refusal>>;

/// A desk where nobody is sent away while a test runs, however slowly.
fn desk() -> (Desk, Arc<Oracle>) {
    desk_with_patience(2 * DEADLINE)
}

fn desk_with_patience(patience: Duration) -> (Desk, Arc<Oracle>) {
    let oracle = Arc::new(Oracle::default());
    let desk = Desk::with_patience(oracle.clone(), patience);
    (desk.unwrap(), oracle)
}

fn ask(desk: &Desk, words: &str) -> Replied {
    let (sender, receiver) = channel();
    let reply = move |answer| sender.send(answer).expect("a test waits for it");
    desk.ask(DIRECTORY, words, Box::new(reply));
    receiver
}

#[track_caller]
fn answer(replied: &Replied) -> Result<Arc<Answer>, Refusal> {
    replied
        .recv_timeout(DEADLINE)
        .expect("everybody is answered")
}

#[track_caller]
fn inode(replied: &Replied) -> u64 {
    answer(replied).expect("there is an answer").node.inode
}

#[track_caller]
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "in vain: {what}");
        std::thread::yield_now();
    }
}

/// Asks for as much as there is room for, each for other words, and returns when all workers are busy.
fn fill(desk: &Desk, oracle: &Oracle) -> Vec<Replied> {
    let already = oracle.ranked().len();
    let asked = (0..WORKERS + QUEUED).map(|number| ask(desk, &format!("filler {number}")));
    let asked = asked.collect();
    eventually("all workers are busy", || {
        oracle.ranked().len() == already + WORKERS
    });
    asked
}

#[test]
fn who_asks_for_the_same_is_answered_by_one_ranking() {
    let (desk, oracle) = desk();
    oracle.hold();
    let asked: Vec<_> = (0..20).map(|_| ask(&desk, "same words")).collect();
    oracle.release();
    let first = inode(&asked[0]);
    assert!(asked[1..].iter().all(|replied| inode(replied) == first));
    assert_eq!(oracle.ranked(), ["same words"]);
}

#[test]
fn what_is_known_is_answered_at_once_and_ranked_anew_for_a_new_generation() {
    let (desk, oracle) = desk();
    oracle.publish("one");
    let first = inode(&ask(&desk, "words"));
    // Answered before `ask` returns, by whoever asks.
    let again = ask(&desk, "words").try_recv().expect("it is at hand");
    assert_eq!(again.unwrap().node.inode, first);
    assert_eq!(oracle.ranked().len(), 1);

    oracle.publish("one");
    assert_eq!(inode(&ask(&desk, "words")), first);
    assert_eq!(oracle.ranked().len(), 2);
    oracle.publish("two");
    assert_ne!(inode(&ask(&desk, "words")), first);
    assert!(desk.answers().get(first).is_none());
}

#[test]
fn one_search_too_many_is_refused_at_once_and_only_that() {
    let (desk, oracle) = desk();
    oracle.publish("one");
    inode(&ask(&desk, "known"));
    oracle.hold();
    let asked = fill(&desk, &oracle);
    let refused = ask(&desk, "one too many")
        .try_recv()
        .expect("it is refused");
    assert!(matches!(refused, Err(Refusal::Busy)));
    // What is known needs no worker, and what is asked for already needs no more room.
    assert!(
        ask(&desk, "known")
            .try_recv()
            .expect("it is at hand")
            .is_ok()
    );
    let along = ask(&desk, "filler 0");
    oracle.release();
    for replied in asked.iter().chain([&along]) {
        assert!(answer(replied).is_ok());
    }
    assert!(answer(&ask(&desk, "one too many")).is_ok());
}

#[test]
fn nobody_waits_for_ever_and_what_nobody_waits_for_is_not_ranked() {
    let (desk, oracle) = desk_with_patience(Duration::from_millis(300));
    oracle.hold();
    let asked = fill(&desk, &oracle);
    for replied in &asked {
        assert!(matches!(answer(replied), Err(Refusal::Busy)));
    }
    // The places of those that were queued are free again, again and again.
    for round in 0..2 {
        let late: Vec<_> = (0..QUEUED)
            .map(|number| ask(&desk, &format!("late {round} {number}")))
            .collect();
        for replied in &late {
            assert!(matches!(answer(replied), Err(Refusal::Busy)));
        }
    }
    assert!(desk.inner.state().turns <= QUEUED);
    oracle.release();
    assert!(answer(&ask(&desk, "later")).is_ok());
    // Which workers had begun with is ranked to its end, and is an answer for the next.
    let ranked = oracle.ranked();
    assert_eq!(ranked.len(), WORKERS + 1, "{ranked:?}");
    eventually("all is taken from the desk", || {
        desk.inner.state().asked.is_empty()
    });
    assert!(
        ask(&desk, &ranked[0])
            .try_recv()
            .expect("it is at hand")
            .is_ok()
    );
}

#[test]
fn a_search_that_breaks_down_costs_nothing_but_its_answer() {
    let (desk, _oracle) = desk();
    for number in 0..2 * WORKERS {
        let broken = answer(&ask(&desk, &format!("break {number}")));
        assert!(matches!(broken, Err(Refusal::Fault)));
    }
    assert!(answer(&ask(&desk, "whole")).is_ok());
}

#[test]
fn a_desk_that_closes_leaves_nobody_waiting() {
    let (desk, oracle) = desk();
    oracle.hold();
    let asked = fill(&desk, &oracle);
    drop(desk);
    for replied in &asked {
        assert!(matches!(answer(replied), Err(Refusal::Busy)));
    }
    oracle.release();
}
