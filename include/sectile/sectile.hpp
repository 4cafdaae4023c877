// The whole of Sectile that needs no device.
#pragma once

#include <sectile/device_class.hpp>
#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>
