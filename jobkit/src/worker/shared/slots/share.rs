/// This much is kept for a queue that had fewer jobs than it was asked for, while others were
/// filled.
const GLANCE: usize = 8;

/// Cuts demands down to this total, without starving any queue. Queues that were `filled` are sure
/// to have jobs, and take turns: asking one for many costs less than asking many for a few each,
/// and yields more than an even share with queues that may have none. They begin at `turn`; the
/// second result is where the next turn begins. If there is less than one for each, the choice is
/// random.
pub(super) fn share(
    most: usize,
    demands: &[usize],
    filled: &[bool],
    turn: usize,
) -> (Vec<usize>, usize) {
    let (count, asking) = (demands.len(), demands.iter().filter(|demand| **demand > 0).count());
    if most < asking || demands.iter().sum::<usize>() <= most {
        return (share_evenly(most, demands), turn);
    }
    let of_others = |cap: usize| {
        let demand = |(demand, filled): (&usize, &bool)| if *filled { 0 } else { cap.min(*demand) };
        demands.iter().zip(filled).map(demand).collect::<Vec<usize>>()
    };
    let mut left = most - of_others(GLANCE).iter().sum::<usize>().min(most / 2);
    let (mut served, mut next) = (vec![0; count], turn);
    for at in (turn..turn + count).map(|at| at % count) {
        if filled[at] && demands[at] > 0 && left > 0 {
            served[at] = demands[at].min(left);
            left -= served[at];
            next = (at + 1) % count;
        }
    }
    let others = share_evenly(most - served.iter().sum::<usize>(), &of_others(usize::MAX));
    (served.iter().zip(others).map(|(served, other)| served + other).collect(), next)
}

/// Small demands are met, larger ones share the rest.
fn share_evenly(most: usize, demands: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..demands.len()).filter(|at| demands[*at] > 0).collect();
    fastrand::shuffle(&mut order);
    order.truncate(most);
    order.sort_by_key(|at| demands[*at]);
    let mut shares = vec![0; demands.len()];
    let mut left = most;
    for (done, at) in order.iter().enumerate() {
        shares[*at] = demands[*at].min(left / (order.len() - done));
        left -= shares[*at];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_demand_leaves_room_for_a_small_one() {
        let share = |demands: &[usize]| share(500, demands, &[false; 4], 0).0;
        assert_eq!(share(&[1000, 10]), [490, 10]);
        assert_eq!(share(&[1000, 0, 10, 1000]), [245, 0, 10, 245]);
        assert_eq!(share(&[3, 0, 4]), [3, 0, 4]);
        assert_eq!(share(&[]), Vec::<usize>::new());
    }

    #[test]
    fn queues_that_had_enough_take_turns() {
        let demands = [300, 0, 300, 300, 300];
        let share = |turn| share(500, &demands, &[true, true, true, true, false], turn);
        assert_eq!(share(0), (vec![300, 0, 192, 0, 8], 3));
        assert_eq!(share(3), (vec![192, 0, 0, 300, 8], 1));
        assert_eq!(share(1), (vec![0, 0, 300, 192, 8], 4));
        assert_eq!(share(4), (vec![300, 0, 192, 0, 8], 3));
    }

    #[test]
    fn what_they_leave_is_shared() {
        let filled = [true, false, false];
        assert_eq!(share(500, &[100, 300, 300], &filled, 0).0, [100, 200, 200]);
    }

    #[test]
    fn those_that_may_have_none_leave_half_of_it() {
        let (mut demands, mut filled) = ([10; 100], [false; 100]);
        (demands[70], filled[70]) = (1000, true);
        let (shares, _) = share(500, &demands, &filled, 0);
        assert_eq!(shares[70], 250);
        assert_eq!(shares.iter().sum::<usize>(), 500);
        assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
    }

    #[test]
    fn when_there_is_not_one_for_each_everybody_has_a_turn() {
        let mut turns = [0; 3];
        for _ in 0..1000 {
            let (shares, _) = share(1, &[5, 500, 1], &[false, true, false], 0);
            assert_eq!(shares.iter().sum::<usize>(), 1);
            turns.iter_mut().zip(shares).for_each(|(turns, share)| *turns += share);
        }
        assert!(turns.iter().all(|turns| *turns > 0), "{turns:?}");
    }
}
