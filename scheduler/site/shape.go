package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// shape is what a job asks of each of its nodes, with the number of nodes that are
// free for that, the state of the free nodes that it is of, and those who wait for it.
type shape struct {
	class place.ClassID
	gpus  int32 // free ones, 0 for all of a node
	n     int32
	nodes int32 // of the largest free conformance group, as bounds need it
	stamp uint64
	units int32 // of each node, as Least counts them
	asks  []ask // of the jobs in the queue, those who want most first
}

// ask is how many nodes a job wants, and below that its ref, turned round: asks that
// ascend want ever less.
type ask uint64

func askOf(need int32, ref model.Ref) ask { return ^ask(uint64(need)<<32 | uint64(uint32(ref))) }

func (a ask) need() int32    { return int32(^a >> 32) }
func (a ask) ref() model.Ref { return model.Ref(uint32(^a)) }

// add puts a job in; its ask must not be there. Cost: a search by halves, and moving
// those who want less, who do not wait long.
func (sh *shape) add(a ask) {
	i, _ := slices.BinarySearch(sh.asks, a)
	sh.asks = append(sh.asks, 0) // by hand, for slices.Insert takes longer than the move
	copy(sh.asks[i+1:], sh.asks[i:])
	sh.asks[i] = a
}

// remove takes a job out that is there.
func (sh *shape) remove(a ask) {
	i, _ := slices.BinarySearch(sh.asks, a)
	copy(sh.asks[i:], sh.asks[i+1:])
	sh.asks = sh.asks[:len(sh.asks)-1]
}

// shapeOf is the row of l.shapes for a class and a number of GPUs, made when it is
// new. They are few, so they are searched one by one.
func (l *lane) shapeOf(class place.ClassID, gpus int32) int32 {
	for i := range l.shapes {
		if sh := &l.shapes[i]; sh.class == class && sh.gpus == gpus {
			return int32(i)
		}
	}
	l.shapes = append(l.shapes, shape{class: class, gpus: gpus, stamp: l.stamp - 1})
	return int32(len(l.shapes)) - 1
}

// freeOf counts the nodes that are free for a shape; it counts anew only when
// something was taken or given back since it was asked last.
func (l *lane) freeOf(i int32) int32 {
	sh := &l.shapes[i]
	if sh.stamp != l.stamp {
		l.recount(sh)
	}
	return sh.n
}

func (l *lane) recount(sh *shape) {
	sh.stamp = l.stamp
	if sh.gpus == 0 {
		sh.n = l.free.Count(sh.class)
	} else {
		sh.n = l.free.CountGPUs(sh.class, sh.gpus)
	}
}

// findFits writes into s.fits who may have room. Cost: that many, and the shapes.
func (s *Core) findFits(l *lane) {
	s.fits = s.fits[:0]
	for i := range l.shapes {
		sh := &l.shapes[i]
		if len(sh.asks) == 0 {
			continue
		}
		most := l.freeOf(int32(i)) + s.offered
		numbers := s.offered == 0 && s.powerCap == usage{} // which then decide alone
		for _, a := range slices.Backward(sh.asks) {
			if a.need() > most {
				break
			}
			if ref := a.ref(); numbers || s.mayFit(l, &l.queue[s.jobs[ref].pos]) {
				s.fits = append(s.fits, ref)
			}
		}
	}
}

// Least is the smallest number of units (nodes, or GPUs where they are shared)
// that a waiting job could start on, 0 when nobody waits. Cost: the shapes.
func (s *Core) Least() int32 {
	least := int32(math.MaxInt32)
	for i := range s.lanes {
		for k := range s.lanes[i].shapes {
			if sh := &s.lanes[i].shapes[k]; len(sh.asks) > 0 {
				least = min(least, sh.asks[len(sh.asks)-1].need()*sh.units)
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
