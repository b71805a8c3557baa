// Package io_prometheus_client has what FerretDB reads of a metric.
package io_prometheus_client

type LabelPair struct{}

func (*LabelPair) GetName() string  { return "" }
func (*LabelPair) GetValue() string { return "" }

type Counter struct{}

func (*Counter) GetValue() float64 { return 0 }

type Metric struct{}

func (*Metric) GetLabel() []*LabelPair { return nil }
func (*Metric) GetCounter() *Counter   { return nil }
