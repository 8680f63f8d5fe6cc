package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// callWithNothing calls a method with the zero value of everything. It returns what the
// method panicked with, and whether it returned an error.
func callWithNothing(receiver reflect.Value, m reflect.Method) (panicked any, failed bool) {
	defer func() { panicked = recover() }()
	args := []reflect.Value{receiver}
	for i := 1; i < m.Type.NumIn(); i++ {
		if in := m.Type.In(i); in == reflect.TypeFor[context.Context]() {
			args = append(args, reflect.ValueOf(ended()))
		} else {
			args = append(args, reflect.Zero(in))
		}
	}
	call := m.Func.Call
	if m.Type.IsVariadic() {
		call = m.Func.CallSlice
	}
	for _, result := range call(args) {
		switch x := result.Interface().(type) {
		case error:
			failed = true
		case mpi.Request:
			_, err := x.Wait(ended())
			failed = err != nil && !errors.Is(err, context.DeadlineExceeded)
		}
	}
	return nil, failed
}

// canFail tells whether a last result of this type can be an error.
func canFail(result reflect.Type) bool {
	return result == reflect.TypeFor[error]() || result == reflect.TypeFor[mpi.Request]()
}

// TestNilCommunicator: no method panics on MPI_COMM_NULL, and those that can fail do.
func TestNilCommunicator(t *testing.T) {
	nobody := reflect.Zero(reflect.TypeFor[*mpi.Comm]())
	for i := range nobody.NumMethod() {
		m := nobody.Type().Method(i)
		panicked, failed := callWithNothing(nobody, m)
		assert.Nil(t, panicked, m.Name)
		if n := m.Type.NumOut(); n > 0 && canFail(m.Type.Out(n-1)) {
			assert.True(t, failed, m.Name)
		}
	}
}

// TestNothing: no method of the zero Request, Message, Status or Buffer panics.
func TestNothing(t *testing.T) {
	var m *mpi.Message
	for _, nothing := range []any{mpi.Request{}, mpi.Requests(nil), m, mpi.Status{}, mpi.Buffer{}} {
		value := reflect.ValueOf(nothing)
		for i := range value.NumMethod() {
			panicked, _ := callWithNothing(value, value.Type().Method(i))
			assert.Nil(t, panicked, value.Type().Method(i).Name)
		}
	}
}

// TestFinalizedProcess: no method of a process that was finalized panics.
func TestFinalizedProcess(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		require.NoError(t, p.Finalize(t.Context()))
		value := reflect.ValueOf(p)
		for i := range value.NumMethod() {
			m := value.Type().Method(i)
			panicked, _ := callWithNothing(value, m)
			assert.Nil(t, panicked, m.Name)
		}
		value = reflect.ValueOf(p.World())
		for i := range value.NumMethod() {
			m := value.Type().Method(i)
			panicked, _ := callWithNothing(value, m)
			assert.Nil(t, panicked, m.Name)
		}
	})
}

// TestFreedCommunicator: no method panics on one that was freed, on any rank.
func TestFreedCommunicator(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.Free())
		freed := reflect.ValueOf(c)
		for i := range freed.NumMethod() {
			m := freed.Type().Method(i)
			if m.Name == "Abort" {
				continue
			}
			panicked, _ := callWithNothing(freed, m)
			assert.Nil(t, panicked, fmt.Sprint(m.Name, " ", panicked))
		}
	})
}
