//! Mutants of subscriptions.

use super::Mutant;
use crate::races::topics;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    announce_subscriptions: "lock table jobkit.subscriptions in share row exclusive mode;" => "",
        topics::two_names_of_a_kind_announced_at_once_are_one_subscriber;
    announce_subscriptions: "lock table jobkit.subscriptions in share row exclusive mode;" => "",
        topics::announcements_in_other_orders_do_not_clash;
    announce_subscriptions: "share row exclusive" => "access exclusive",
        topics::a_publish_waits_for_no_change_of_subscriptions;
    announce_subscriptions: "s.kind = i.alias or " => "",
        topics::two_names_of_a_kind_announced_at_once_are_one_subscriber;
    announce_subscriptions: " or i.kind = any (s.aliases)" => "",
        topics::two_names_of_a_kind_announced_at_once_are_one_subscriber;
    announce_subscriptions: "perform jobkit.require_read_committed();" => "",
        topics::announcements_in_other_orders_do_not_clash;
    fan_out: "where s.topic = p_topic" => "",
        topics::a_publish_waits_for_no_change_of_subscriptions;
    unsubscribe: "s.topic = p_topic and s.kind = p_kind" => "s.topic = p_topic",
        topics::a_publish_waits_for_no_change_of_subscriptions;
};
