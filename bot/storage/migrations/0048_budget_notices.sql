-- Since when a process has been telling admins of a budget. `told` changes when they were told; if that process ends
-- before, another one tells them.
ALTER TABLE budget_use ADD COLUMN telling_since timestamptz;
