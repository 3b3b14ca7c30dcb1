package site

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
	"orrery/traces/synth"
)

// training is a task of ml: a single job, an element of a task group or a task
// of a workflow. Assumptions: classes 3, 4 and 6 of 0.3, 0.5 and 0.2; the
// system checkpoints 85 in a hundred and the application the others; a job is
// requeued up to three times whatever ended it; six in ten name their GPU and
// its memory; a fifth asks for a fast network.
func (s *site) training(u *unit, task int, j *traces.Job) {
	shared := s.source(streamEnd, u, 0)
	class, by := shared.Float64(), shared.Float64()
	d := s.source(streamEnd, u, task+1)
	j.Name = "train"
	role := roleTrain
	most := s.largest(ml) * mlGPUs
	switch u.shape {
	case shapeArray:
		j.Name, j.Group = "sweep", fmt.Sprintf("sweep%06d", u.n)
		j.Index, j.MaxConcurrent = traces.Some(int32(task)), traces.Some(int32(2+shared.IntN(7)))
		most = mlGPUs // the elements of a sweep fit a node
	case shapeDAG:
		role = dagRole(int(u.tasks), task)
		j.Name, j.DAG = dagNames[role], fmt.Sprintf("flow%06d", u.n)
	}
	s.trainShape(u, task, role, most, j)
	j.Class = traces.Some([...]int32{3, 4, 6}[pick(class, 0.3, 0.5)])
	checkpoint(j, [...]string{"auto", "manual"}[pick(by, 0.85)], 80e9, &d)
	requeue(j, "on-node-failure", 3)
	if d.Bool(0.6) {
		j.GPUType, j.GPUMem = nodeTypes[ml].gpu, traces.Some(int64(80e9))
	}
	if d.Bool(0.2) {
		j.Features = "fabric"
	}
	fail(j, role == roleTrain && d.Bool(s.p.Failures))
	s.surround(u, task, j)
}

// trainShape draws nodes, run time and request of a task. Sizes of a sweep are
// one draw for all elements.
func (s *site) trainShape(u *unit, task, role int, most int32, j *traces.Job) {
	run, request := s.source(streamRuntime, u, task), s.source(streamRequest, u, task)
	if role != roleTrain {
		// Preparation, evaluation and recovery: two GPUs for a time of 10, 30
		// and 5 minutes in the median. Assumption.
		layOut(j, ml, 1, 2)
		life := Life{Mu: dagMinutes[role], Sigma: 0.8, Longest: 4 * model.Hour}
		s.setTimes(j, min(life.span(&run), s.longestTraining()), &s.p.MLRequests, &request)
		return
	}
	same := task
	if u.shape == shapeArray {
		same = 0
	}
	d := s.source(streamSize, u, same)
	size := s.trainSize(&d, most)
	nodes, gpus := int32(1), size.GPUs
	if gpus > mlGPUs {
		nodes, gpus = gpus/mlGPUs, mlGPUs
	}
	layOut(j, ml, nodes, gpus)
	if gpus == mlGPUs && u.shape != shapeArray && d.Bool(s.p.Ranges) {
		j.NodesMax = traces.Some(min(2*nodes, s.home[ml]))
	}
	life := Life{Mu: size.RuntimeMu, Sigma: size.RuntimeSigma, Longest: s.longestTraining()}
	s.setTimes(j, life.span(&run), &s.p.MLRequests, &request)
}

func (s *site) longestTraining() model.Duration {
	return s.p.MLRequests.Values[len(s.p.MLRequests.Values)-1]
}

// trainSize draws one of the sizes of up to most GPUs.
func (s *site) trainSize(d *draw.Source, most int32) *synth.GPUSize {
	sum := 0.0
	for i := range s.p.TrainSizes {
		if s.p.TrainSizes[i].GPUs <= most {
			sum += s.p.TrainSizes[i].Weight
		}
	}
	u, last := d.Float64()*sum, 0
	for i := range s.p.TrainSizes {
		size := &s.p.TrainSizes[i]
		if size.GPUs > most || size.Weight == 0 {
			continue
		}
		last = i
		if u -= size.Weight; u < 0 {
			break
		}
	}
	return &s.p.TrainSizes[last]
}

// Roles of the tasks of a workflow.
const (
	roleTrain = iota
	rolePrepare
	roleEvaluate
	roleRecover
)

var (
	dagNames = [...]string{"train", "preprocess", "eval", "recover"}
	// dagMinutes are the logarithms of the seconds of 10, 30 and 5 minutes.
	dagMinutes = [...]float64{0, 6.397, 7.496, 5.704}
)

// A workflow of n tasks, 3 to 12, is: task 0, which prepares; then tasks that
// train, each after the success of task 0; then tasks that evaluate, each after
// the success of one that trains; and, from five tasks on, a last one that
// starts on the failure of the first that trains. Assumption.

// dagTrains is how many tasks train: half of those between the first and the
// last.
func dagTrains(n int) int {
	if n >= 5 {
		n--
	}
	return (n - 1) / 2
}

func dagRole(n, task int) int {
	switch {
	case task == 0:
		return rolePrepare
	case task <= dagTrains(n):
		return roleTrain
	case n >= 5 && task == n-1:
		return roleRecover
	}
	return roleEvaluate
}

// dagEdge is what a task but the first waits for.
func dagEdge(n, task int) (on int, condition string) {
	trains := dagTrains(n)
	switch dagRole(n, task) {
	case roleTrain:
		return 0, "success"
	case roleRecover:
		return 1, "failure"
	}
	return 1 + (task-1-trains)%trains, "success"
}
