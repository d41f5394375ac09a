#pragma once
/// Everything a program that embeds Mercer needs.
#include <mercer/error.hpp>
#include <mercer/kernel.hpp>
#include <mercer/model.hpp>
#include <mercer/progress.hpp>
#include <mercer/rows.hpp>
#include <mercer/threads.hpp>
#include <mercer/view.hpp>
