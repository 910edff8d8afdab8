/// A design that some sequence of steps refutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A wait reads the semaphore before it has the lock.
    WaitReadsEarly,
    /// The same, but only for a key that nobody holds a permit of.
    FreshKeyReadsEarly,
    /// A settle looks for blocked jobs in the snapshot from before it had the lock.
    SettleReadsEarly,
    /// A signal counts down although it found no permit to delete.
    SignalUnchecked,
    /// A settle does not look whether the claim still lists the job.
    SettleUnfenced,
    /// A fill grants one permit, however many are free.
    FillOne,
    /// A fill takes the job that came last.
    FillNewestFirst,
    /// A fill takes jobs that nobody serves.
    FillUnserved,
    /// A retry keeps its permit.
    RetryKeepsPermit,
    /// A reap does not give the permit back.
    ReapKeepsPermit,
    /// A reap takes a claim without looking whether its worker is there.
    ReapUnchecked,
    /// Rows that hold a permit are parked with the others.
    ParkHolders,
    /// No sweep follows a raise of the limit.
    RaiseUnswept,
    /// A cancel of a ready job leaves its permit behind.
    CancelKeepsPermit,
    /// The semaphore is forgotten while permits are out.
    ForgetTaken,
    /// A sweep runs only after a start, a resume or a raise, and not from time to time.
    SweepOnlyDue,
    /// A sweep leaves permits with jobs that nobody serves any more.
    SweepFillsOnly,
    /// A claim reads how many slots are free before it has the lock.
    SlotsReadEarly,
    /// A grant gives slots that are reserved for others.
    ReservedUncounted,
    /// A grant dates the slot of a job, and not the claim.
    DatedByGrant,
    /// Twice the burst may be taken at once.
    BurstTwice,
    /// What becomes of a job leaves the slot reserved that it did not take.
    CancelKeepsSlot,
    /// A claim of a job with a slot reserved does not move `tat` on.
    ClaimUndated,
    /// A claim that comes when a look is due has the key forget it.
    ClaimForgetsLook,
    /// A claim counts what runs of a kind before it has the lock of its limit.
    KindLimitReadsEarly,
    /// What dead workers run does not count.
    KindLimitForgetsDead,
    /// A claim reads what is paused before a pause, and commits after it.
    PauseReadEarly,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 27] = [
        Self::WaitReadsEarly,
        Self::FreshKeyReadsEarly,
        Self::SettleReadsEarly,
        Self::SignalUnchecked,
        Self::SettleUnfenced,
        Self::FillOne,
        Self::FillNewestFirst,
        Self::FillUnserved,
        Self::RetryKeepsPermit,
        Self::ReapKeepsPermit,
        Self::ReapUnchecked,
        Self::ParkHolders,
        Self::RaiseUnswept,
        Self::CancelKeepsPermit,
        Self::ForgetTaken,
        Self::SweepOnlyDue,
        Self::SweepFillsOnly,
        Self::SlotsReadEarly,
        Self::ReservedUncounted,
        Self::DatedByGrant,
        Self::BurstTwice,
        Self::CancelKeepsSlot,
        Self::ClaimUndated,
        Self::ClaimForgetsLook,
        Self::KindLimitReadsEarly,
        Self::KindLimitForgetsDead,
        Self::PauseReadEarly,
    ];
}
