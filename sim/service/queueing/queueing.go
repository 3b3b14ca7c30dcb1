// Package queueing has the closed formulas of queues with several servers: what a simulated
// queue must come to in the long run, and how many servers a load needs. It must not know
// services, policies or time series.
//
// Rates are per unit of time, and times in that unit.
package queueing

import (
	"fmt"
	"math"
	"sort"

	"orrery/internal/libm"
)

// Queue is a station of equal servers with one queue, first come first served.
type Queue struct {
	Arrivals float64 // λ, per unit of time
	Service  float64 // μ of one server, per unit of time
	Servers  int64   // c

	// Squared coefficients of variation of the times between arrivals and of service, which
	// the approximations of the G/G/c queue take; 1 is exponential.
	ArrivalSCV, ServiceSCV float64
}

func (q Queue) validate() error {
	if !(q.Arrivals > 0) || !(q.Service > 0) || q.Servers < 1 || math.IsInf(q.Arrivals, 0) || math.IsInf(q.Service, 0) {
		return fmt.Errorf("arrival rate %v, service rate %v and %d servers: want more than 0 of each", q.Arrivals, q.Service, q.Servers)
	}
	return nil
}

// Load is the offered load λ/μ in erlangs: servers busy in the mean if there are enough.
func (q Queue) Load() float64 { return q.Arrivals / q.Service }

// Utilization is the load of one server, 1 and more where the queue grows without end.
func (q Queue) Utilization() float64 { return q.Load() / float64(q.Servers) }

// Steady are the long-run figures of an M/M/c queue.
type Steady struct {
	Utilization  float64
	ErlangB      float64 // probability that all servers are busy where there is no queue
	ErlangC      float64 // probability that an arrival waits
	MeanWait     float64
	MeanResponse float64
	MeanInQueue  float64
	MeanInSystem float64
}

// Steady computes them. It is an error when the load exceeds the servers.
func (q Queue) Steady() (Steady, error) {
	if err := q.validate(); err != nil {
		return Steady{}, err
	}
	rho := q.Utilization()
	if rho >= 1 {
		return Steady{}, fmt.Errorf("utilisation %v: want less than 1, or the queue grows without end", rho)
	}
	b := ErlangB(q.Load(), q.Servers)
	s := Steady{Utilization: rho, ErlangB: b, ErlangC: b / (1 - float64(rho*(1-b)))}
	s.MeanWait = s.ErlangC / (float64(float64(q.Servers)*q.Service) - q.Arrivals)
	s.MeanResponse = s.MeanWait + 1/q.Service
	s.MeanInQueue, s.MeanInSystem = float64(q.Arrivals*s.MeanWait), float64(q.Arrivals*s.MeanResponse)
	return s, nil
}

// Later is the probability that an arrival of an M/M/c queue waits for longer than t.
func (q Queue) Later(s Steady, t float64) float64 {
	return float64(s.ErlangC * libm.Exp(-float64((float64(float64(q.Servers)*q.Service)-q.Arrivals)*t)))
}

// ErlangB is the probability that all servers are busy under an offered load in erlangs,
// where what finds them busy is lost: 1/B(c) is the sum over k of c!/(c-k)!/aᵏ, whose terms
// vanish after some multiple of √c of them. Cost O(√servers).
func ErlangB(load float64, servers int64) float64 {
	sum, term := 1.0, 1.0
	for c := float64(servers); c > 0; c-- {
		term *= c / load
		sum += term
		if term < sum*1e-17 && c <= load || sum > 1e300 {
			break // what follows is smaller still, or B is 0
		}
	}
	return 1 / sum
}

// AllenCunneen approximates the mean wait of a G/G/c queue: that of M/M/c times the mean of
// the squared coefficients of variation. (Allen: Probability, statistics and queueing theory
// with computer science applications, 1990.)
func (q Queue) AllenCunneen() (float64, error) {
	s, err := q.Steady()
	return float64(s.MeanWait * (q.ArrivalSCV + q.ServiceSCV) / 2), err
}

// Sakasegawa approximates the same without Erlang's formula, in constant time.
// (Sakasegawa: An approximation formula, 1977; in the form of Hopp and Spearman: Factory physics.)
func (q Queue) Sakasegawa() (float64, error) {
	if err := q.validate(); err != nil {
		return 0, err
	}
	rho, c := q.Utilization(), float64(q.Servers)
	if rho >= 1 {
		return 0, fmt.Errorf("utilisation %v: want less than 1, or the queue grows without end", rho)
	}
	power := libm.Pow(rho, math.Sqrt(2*(c+1))-1)
	return float64((q.ArrivalSCV + q.ServiceSCV) / 2 * power / float64(c*(1-rho)) / q.Service), nil
}

// Servers is the smallest number of servers with which at most the share late of the
// arrivals of an M/M/c queue waits for longer than t.
func Servers(arrivals, service, t, late float64) int64 {
	if !(arrivals > 0) {
		return 0
	}
	q := Queue{Arrivals: arrivals, Service: service}
	return Smallest(int64(q.Load())+1, func(c int64) bool {
		q.Servers = c
		s, err := q.Steady()
		return err == nil && q.Later(s, t) <= late
	})
}

// Places is the smallest number of servers with which at most the share lost of the arrivals
// finds all of them busy, where there is no queue.
func Places(load, lost float64) int64 {
	if !(load > 0) {
		return 0
	}
	return Smallest(1, func(c int64) bool { return ErlangB(load, c) <= lost })
}

// Smallest is the smallest number from least on that is enough, where all beyond it are
// enough as well, and one is. It looks at a number for each digit of how far that is.
func Smallest(least int64, enough func(int64) bool) int64 {
	step := int64(1)
	for ; !enough(least + step - 1); step *= 2 {
		least += step
	}
	return least + int64(sort.Search(int(step-1), func(i int) bool { return enough(least + int64(i)) }))
}
