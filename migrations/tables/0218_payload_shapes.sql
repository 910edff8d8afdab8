-- Whether a payload of the kind may be a JSON string; null: its binary did not say.
alter table jobkit.kinds add column takes_text boolean;
