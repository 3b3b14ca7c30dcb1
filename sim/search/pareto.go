package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// fronts sorts scores into fronts: the first holds the indices that nothing
// dominates, the next those that only the first dominates, and so on; indices
// ascend within a front. It costs n² comparisons. (Deb, Pratap, Agarwal,
// Meyarivan: A fast and elitist multiobjective genetic algorithm, 2002.)
func fronts(scores []Score) [][]int {
	below := make([][]int, len(scores)) // those that i dominates
	above := make([]int, len(scores))   // how many dominate i
	for i := range scores {
		for j := range i {
			switch {
			case dominates(&scores[i], &scores[j]):
				below[i] = append(below[i], j)
				above[j]++
			case dominates(&scores[j], &scores[i]):
				below[j] = append(below[j], i)
				above[i]++
			}
		}
	}
	var fronts [][]int
	var front []int
	for i := range scores {
		if above[i] == 0 {
			front = append(front, i)
		}
	}
	for len(front) > 0 {
		fronts = append(fronts, front)
		var next []int
		for _, i := range front {
			for _, j := range below[i] {
				if above[j]--; above[j] == 0 {
					next = append(next, j)
				}
			}
		}
		slices.Sort(next)
		front = next
	}
	return fronts
}

// crowding is the crowding distance of each member of a front, in its order:
// the sum over the objectives of the gap between its two neighbours, as a
// fraction of the front's range; infinite at the ends. (Deb et al., 2002.)
func crowding(scores []Score, front []int) []float64 {
	distance := make([]float64, len(front))
	order := make([]int, len(front))
	for m := range scores[front[0]].Costs {
		cost := func(i int) float64 { return scores[front[i]].Costs[m] }
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(a), cost(b)) })
		first, last := order[0], order[len(order)-1]
		width := cost(last) - cost(first)
		distance[first], distance[last] = math.Inf(1), math.Inf(1)
		if !(width > 0) || math.IsInf(width, 1) {
			continue
		}
		for k := 1; k < len(order)-1; k++ {
			distance[order[k]] += (cost(order[k+1]) - cost(order[k-1])) / width
		}
	}
	return distance
}

// Hypervolume is the exact volume that costs (all to be minimised) dominate up
// to the reference point; costs that are not below it in each objective add
// nothing. It takes two objectives in n log n steps and three in n² log n.
func Hypervolume(costs [][]float64, reference []float64) (float64, error) {
	var inside [][]float64
	for i, c := range costs {
		if len(c) != len(reference) {
			return 0, fmt.Errorf("search: point %d has %d costs, the reference point %d", i, len(c), len(reference))
		}
		below := true
		for m := range c {
			below = below && c[m] < reference[m]
		}
		if below {
			inside = append(inside, c)
		}
	}
	switch len(reference) {
	case 2:
		return area(inside, reference), nil
	case 3:
		return volume(inside, reference), nil
	default:
		return 0, fmt.Errorf("search: the hypervolume of %d objectives: only 2 and 3 are computed", len(reference))
	}
}

// area sums the steps of the staircase from left to right.
func area(points [][]float64, reference []float64) float64 {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
	sum, roof := 0.0, reference[1]
	for _, p := range points {
		if p[1] < roof {
			sum += (reference[0] - p[0]) * (roof - p[1])
			roof = p[1]
		}
	}
	return sum
}

// volume cuts the body into slices between the third costs of its points.
func volume(points [][]float64, reference []float64) float64 {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b []float64) int { return cmp.Compare(a[2], b[2]) })
	sum := 0.0
	for i, p := range points {
		top := reference[2]
		if i+1 < len(points) {
			top = points[i+1][2]
		}
		if top > p[2] {
			sum += (top - p[2]) * area(points[:i+1], reference)
		}
	}
	return sum
}
