// Everything in wisp::data.
#pragma once

#include "runtime/data/datasets.h"
#include "runtime/data/loader.h"
#include "runtime/data/samplers.h"
#include "runtime/data/transforms.h"
