package fit

import (
	"fmt"
	"slices"
)

// NodeRow is what a node and its GPUs draw in the same time, each the mean over a minute or more.
type NodeRow struct {
	GPUs float64 // W, all GPUs of the node together, corrected
	Node float64 // W, by a meter or the BMC
}

// NodeFit is node = Base + PerWatt · GPUs. Its figures are valid for draws of the GPUs within
// Valid, W.
type NodeFit struct {
	Base    Figure // W beyond the GPUs when these draw nothing: processors, memory, idle fans
	PerWatt Figure // W of the node for each W of its GPUs: conversion, fans, processors at work
	line    straight
}

// Draw is that of the node while its GPUs draw so much together, W. It is refused further than a
// tenth of their range beyond it.
func (f *NodeFit) Draw(gpus float64) Figure {
	if !f.Base.Known() {
		return f.Base
	}
	valid := f.Base.Valid
	if beyond := nodeBeyond * (valid.High - valid.Low); !(gpus >= valid.Low-beyond && gpus <= valid.High+beyond) {
		return refused(Refusal{What: nodeByGPUs, Found: fmt.Sprintf("GPUs at %.0f to %.0f W", valid.Low, valid.High), Want: fmt.Sprintf("some at %.0f W, for which the draw of the node is asked", gpus),
			Obtain: "record idle minutes and loaded ones"})
	}
	out := f.Base.Estimate
	out.Band = f.line.at(gpus)
	return Figure{Estimate: widened(out, f.line.left)}
}

const (
	leastNodeRows = 20
	nodeByGPUs    = "draw of a node by its GPUs"
	nodeBeyond    = 0.1 // of the range of the draws of the GPUs
	leastNodeSpan = 1.5 // largest ÷ smallest draw of the GPUs, without the tenth at either end
)

// Node fits the draw of a node by that of its GPUs. Rows are in the order of time: where what is
// left of neighbours is alike, the intervals widen.
func Node(rows []NodeRow) (NodeFit, error) {
	gpus, node := make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		if !(r.GPUs > 0) || !finite(r.GPUs) || !(r.Node > 0) || !finite(r.Node) {
			return NodeFit{}, fmt.Errorf("row %d: found GPUs at %v W and the node at %v W, want positive numbers", i, r.GPUs, r.Node)
		}
		gpus[i], node[i] = r.GPUs, r.Node
	}
	refuse := func(r *Refusal) (NodeFit, error) {
		return NodeFit{Base: Figure{Refused: r}, PerWatt: Figure{Refused: r}}, nil
	}
	if len(rows) < leastNodeRows {
		return refuse(fewer(nodeByGPUs, len(rows), leastNodeRows, "minutes", "join a meter or the BMC for longer"))
	}
	low, high := Quantile(0.1, gpus), Quantile(0.9, gpus)
	if !(high >= leastNodeSpan*low) {
		return refuse(&Refusal{What: nodeByGPUs, Found: fmt.Sprintf("GPUs at %.0f to %.0f W", low, high), Want: fmt.Sprintf("draws that differ by a factor of %v", leastNodeSpan),
			Obtain: "record idle minutes and loaded ones"})
	}
	l, known := theilSen(gpus, node)
	if !known || !(l.slope.Low > 0) {
		return refuse(&Refusal{What: nodeByGPUs, Found: "a node whose draw does not grow with that of its GPUs", Want: "readings of the same node at the same time", Obtain: "check the clocks of meter and agent, and which node the meter is at"})
	}
	of := Estimate{N: len(rows), Units: "minutes", Residual: l.residual, Valid: Range{slices.Min(gpus), slices.Max(gpus)}}
	base, perWatt := of, of
	base.Band, perWatt.Band = l.level, l.slope
	return NodeFit{Figure{Estimate: widened(base, l.left)}, Figure{Estimate: widened(perWatt, l.left)}, l}, nil
}
