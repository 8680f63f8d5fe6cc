package datatype

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValueIndex(t *testing.T) {
	assert.Same(t, Float64Int32, ValueIndex(Float64, Int32))
	assert.Same(t, Int16Int64, ValueIndex(Int16, Int64))
	assert.Same(t, Int64Int64, ValueIndex(Int, Int), "an int has 64 bits")
	assert.Same(t, LongDoubleInt32, ValueIndex(LongDouble, Int32))
	assert.Same(t, LongInt32, ValueIndex(Long, Int32))
	assert.Same(t, Integer4Integer4, ValueIndex(Integer4, Integer4))
	assert.Same(t, Float64Float64, ValueIndex(Float64, Float64))
	assert.Nil(t, ValueIndex(Uint8, Int32))
	assert.Nil(t, ValueIndex(Float64, Int16))
	assert.Nil(t, ValueIndex(nil, Int32))
	assert.Nil(t, ValueIndex(Float64Int32, Int32))
}
