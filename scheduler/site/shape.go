package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// shape is what a job asks of each of its nodes, with the number of nodes that are
// free for that, the state of the free nodes that it is of, and those who wait for it.
type sizeClass struct {
	class   place.ClassID
	gpus    int32 // free ones, 0 for all of a node
	free    int32
	group   int32 // of the largest free conformance group, as bounds need it
	stamp   uint64
	units   int32     // of each node, as Least counts them
	waiting []request // of the jobs in the queue, those who want most first
}

// ask is how many nodes a job wants, and below that its ref, turned round: asks that
// ascend want ever less.
type request uint64

func requestOf(need int32, ref model.Ref) request {
	return ^request(uint64(need)<<32 | uint64(uint32(ref)))
}

func (a request) need() int32    { return int32(^a >> 32) }
func (a request) ref() model.Ref { return model.Ref(uint32(^a)) }

// add puts a job in; its ask must not be there. Cost: a search by halves, and moving
// those who want less, who do not wait long.
func (sh *sizeClass) add(a request) {
	i, _ := slices.BinarySearch(sh.waiting, a)
	sh.waiting = append(sh.waiting, 0) // by hand, for slices.Insert takes longer than the move
	copy(sh.waiting[i+1:], sh.waiting[i:])
	sh.waiting[i] = a
}

// remove takes a job out that is there.
func (sh *sizeClass) remove(a request) {
	i, _ := slices.BinarySearch(sh.waiting, a)
	copy(sh.waiting[i:], sh.waiting[i+1:])
	sh.waiting = sh.waiting[:len(sh.waiting)-1]
}

// shapeOf is the row of l.shapes for a class and a number of GPUs, made when it is
// new. They are few, so they are searched one by one.
func (qs *queueState) sizeOfRequest(class place.ClassID, gpus int32) int32 {
	for i := range qs.sizes {
		if sh := &qs.sizes[i]; sh.class == class && sh.gpus == gpus {
			return int32(i)
		}
	}
	qs.sizes = append(qs.sizes, sizeClass{class: class, gpus: gpus, stamp: qs.stamp - 1})
	return int32(len(qs.sizes)) - 1
}

// freeOf counts the nodes that are free for a shape; it counts anew only when
// something was taken or given back since it was asked last.
func (qs *queueState) freeOf(i int32) int32 {
	sh := &qs.sizes[i]
	if sh.stamp != qs.stamp {
		qs.recount(sh)
	}
	return sh.free
}

func (qs *queueState) recount(sh *sizeClass) {
	sh.stamp = qs.stamp
	if sh.gpus == 0 {
		sh.free = qs.free.Count(sh.class)
	} else {
		sh.free = qs.free.CountGPUs(sh.class, sh.gpus)
	}
}

// findFits writes into s.fits who may have room. Cost: that many, and the shapes.
func (s *Core) findFits(qs *queueState) {
	s.fits = s.fits[:0]
	for i := range qs.sizes {
		sh := &qs.sizes[i]
		if len(sh.waiting) == 0 {
			continue
		}
		most := qs.freeOf(int32(i)) + s.offered
		numbers := s.offered == 0 && s.powerCap == usage{} // which then decide alone
		for _, a := range slices.Backward(sh.waiting) {
			if a.need() > most {
				break
			}
			if ref := a.ref(); numbers || s.mayFit(qs, &qs.waiting[s.jobs[ref].pos]) {
				s.fits = append(s.fits, ref)
			}
		}
	}
}

// Least is the smallest number of units (nodes, or GPUs where they are shared)
// that a waiting job could start on, 0 when nobody waits. Cost: the shapes.
func (s *Core) Least() int32 {
	least := int32(math.MaxInt32)
	for i := range s.vclusters {
		for k := range s.vclusters[i].sizes {
			if sh := &s.vclusters[i].sizes[k]; len(sh.waiting) > 0 {
				least = min(least, sh.waiting[len(sh.waiting)-1].need()*sh.units)
			}
		}
	}
	if least == math.MaxInt32 {
		return 0
	}
	return least
}

// unitsOf is what each node of j counts for in Least.
func (s *Core) unitsOf(j *job) int32 {
	if s.cfg.Shared {
		return j.kind.gpusOf(&j.Allocation)
	}
	return 1
}
