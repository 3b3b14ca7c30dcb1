package site

import "orrery/scheduler/quota"

// Ledger is the ledger of the tenants, for tests that look into it.
func (s *Core) Ledger() *quota.Ledger { return s.ledger.Ledger }
