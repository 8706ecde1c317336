// Everything in wisp::optim.
#pragma once

#include "runtime/optim/algorithms.h"
#include "runtime/optim/lbfgs.h"
#include "runtime/optim/optimizer.h"
