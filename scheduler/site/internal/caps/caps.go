// Package caps counts what a site shares out beside its nodes: electric power, I/O
// bandwidth, and the nodes that sensitive work may hold at once.
package caps

// Usage is an amount of power and bandwidth, asked for or in use.
type Usage struct {
	Power     int64 // W
	Bandwidth int64 // B/s
	// Idle is what the nodes taken draw without a job, W, where idle nodes count: by so much
	// less does the sum grow.
	Idle int64
}

// Net is the power that u adds to what is reckoned, W.
func (u Usage) Net() int64 { return u.Power - u.Idle }

// Plus is the sum of u and o.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Power + o.Power, u.Bandwidth + o.Bandwidth, u.Idle + o.Idle}
}

// Minus is u less o.
func (u Usage) Minus(o Usage) Usage {
	return Usage{u.Power - o.Power, u.Bandwidth - o.Bandwidth, u.Idle - o.Idle}
}

// Allows says whether the caps u, of which 0 is none, leave room for asked when used is
// in use. What asks for nothing of a capped amount has room, even beyond the cap.
func (u *Usage) Allows(asked, used Usage) bool {
	return (u.Power == 0 || asked.Power == 0 || used.Net()+asked.Net() <= u.Power) &&
		(u.Bandwidth == 0 || asked.Bandwidth == 0 || used.Bandwidth+asked.Bandwidth <= u.Bandwidth)
}

// Binds says whether any of the caps u may keep back a job that asks for so much.
func (u *Usage) Binds(asked Usage) bool {
	return (u.Power > 0 && asked.Power > 0) || (u.Bandwidth > 0 && asked.Bandwidth > 0)
}

// State is the caps of a site and what is in use of them. Used and Sensitive are sums
// over the jobs that run, are proposed, or grow; they may exceed caps that were lowered.
type State struct {
	Cap       Usage // 0 for none
	Used      Usage
	Pool      int32 // most nodes of sensitive work, 0 for no bound
	Sensitive int32 // nodes of sensitive work
	Idle      Idle  // nodes that no job holds, whose power is less in Used
	// Met says that a cap has left no room since this was last set to false.
	Met bool
}

// Fits says whether asked fits under the caps now.
func (s *State) Fits(asked Usage) bool { return s.Allow(asked, s.Used) }

// Allow says whether it would beside so much in use.
func (s *State) Allow(asked, used Usage) bool {
	fits := s.Cap.Allows(asked, used)
	s.Met = s.Met || !fits
	return fits
}

// PoolHas says whether sensitive work may hold n nodes more.
func (s *State) PoolHas(n int32) bool { return s.Pool <= 0 || s.Sensitive+n <= s.Pool }
