package metric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// minutesOf is a service in steps of a minute.
func minutesOf(nodes int64, price float64, steps ...ServiceStep) Service {
	for k := range steps {
		steps[k].At = model.Time(k) * model.Time(model.Minute)
	}
	return Service{Step: model.Minute, Nodes: nodes, Price: price, Missable: 0.1, Steps: steps}
}

// TestServicesByHand: the metrics of two services in a window, which takes the steps that
// begin in it.
func TestServicesByHand(t *testing.T) {
	list := []Service{
		minutesOf(2, 3, ServiceStep{Need: 9, Arrived: 100, Lost: 100, Held: 9},
			ServiceStep{Need: 4, Supply: 2, Arrived: 40, Late: 4, Held: 3, Served: 2}, // a tenth is allowed
			ServiceStep{Need: 4, Supply: 5, Arrived: 10, Late: 1, Lost: 1, Held: 5, Served: 5}, ServiceStep{Need: 2, Supply: 4, Held: 4, Served: 4}),
		minutesOf(1, 10, ServiceStep{}, ServiceStep{Need: 1, Supply: 1, Arrived: 50, Held: 1, Served: 1}),
	}
	r := reductionOf(within(list, 1, model.Time(4*model.Minute)))
	for name, want := range map[string]float64{
		"service_missed": 6.0 / 100, "service_lost": 1.0 / 100, "service_bad_steps": 1.0 / 3,
		// Of the first (2/4)/3, (1/4 + 2/2)/3, 1/3, 2/3; 4 to 4 to 2 is answered by 2 to 5 to 4: one of two steps.
		"service_theta_under": 0.5 / 4, "service_theta_over": 1.25 / 4, "service_tau_under": 1.0 / 4, "service_tau_over": 2.0 / 4, "service_instability": 0.5 * 3 / 4,
		"service_reversals": 1, "service_jitter": (1.0 / (3.0 / 60) * 3) / 4,
		"service_replica_hours": 13.0 / 60, "service_served_hours": 12.0 / 60, "service_node_hours": 25.0 / 60, "service_cost": (12*3 + 10) / 60.0,
	} {
		v := definitionOf(name).eval(r)
		require.True(t, v.ok, name)
		require.InDelta(t, want, v.x, 1e-12, name)
	}
	require.EqualValues(t, 4, definitionOf("service_missed").eval(r).count, "three steps of the first service and one of the other")
	all := reductionOf(within(list, 0, model.Time(model.Hour)))
	require.InDelta(t, 106.0/200, definitionOf("service_missed").eval(all).x, 1e-12)
	none := reductionOf(within(list, model.Time(model.Hour), model.Time(2*model.Hour)))
	for _, d := range serviceDefinitions {
		v := d.eval(none)
		require.False(t, v.ok, d.Name)
		require.NotEmpty(t, v.note, d.Name)
	}
}

func reductionOf(list []Service) *reduction {
	var r reduction
	r.serve(list)
	return &r
}
