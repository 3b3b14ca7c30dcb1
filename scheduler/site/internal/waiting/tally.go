package waiting

// tally counts jobs by some number of theirs, and lists the numbers that some have.
type tally struct {
	jobs, at []int32 // by number: how many, and where in live
	live     []int32 // in no order
}

// add counts a job.
func (t *tally) add(i int32) {
	for int(i) >= len(t.jobs) {
		t.jobs, t.at = append(t.jobs, 0), append(t.at, 0)
	}
	if t.jobs[i]++; t.jobs[i] > 1 {
		return
	}
	t.at[i] = int32(len(t.live))
	t.live = append(t.live, i)
}

// remove undoes add.
func (t *tally) remove(i int32) {
	if t.jobs[i]--; t.jobs[i] > 0 {
		return
	}
	at, last := t.at[i], t.live[len(t.live)-1]
	t.live[at], t.at[last] = last, at
	t.live = t.live[:len(t.live)-1]
}
