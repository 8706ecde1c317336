// Everything in wisp::nn.
#pragma once

#include "runtime/nn/activation.h"
#include "runtime/nn/containers.h"
#include "runtime/nn/conv.h"
#include "runtime/nn/init.h"
#include "runtime/nn/layers.h"
#include "runtime/nn/loss.h"
#include "runtime/nn/module.h"
#include "runtime/nn/norm.h"
#include "runtime/nn/rnn.h"
