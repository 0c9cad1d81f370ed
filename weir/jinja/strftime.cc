#include "weir/jinja/strftime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

struct Calendar {
  std::int64_t year = 0;
  int month = 1, day = 1, hour = 0, minute = 0, second = 0;
  int weekday = 0;   ///< 0: Sunday
  int year_day = 0;  ///< 0: January 1st
};

bool is_leap(std::int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

/// Days since the epoch to a date (H. Hinnant, "chrono-compatible low-level date algorithms").
Calendar calendar(std::int64_t unix_seconds) {
  Calendar c;
  std::int64_t days = unix_seconds / 86400;
  std::int64_t rest = unix_seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  c.hour = static_cast<int>(rest / 3600);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.second = static_cast<int>(rest % 60);
  c.weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);
  const std::int64_t z = days + 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const std::int64_t day_of_era = z - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  c.day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  c.month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  c.year = year_of_era + era * 400 + (c.month <= 2 ? 1 : 0);
  constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  c.year_day = kBefore[static_cast<std::size_t>(c.month - 1)] + c.day - 1 +
               (c.month > 2 && is_leap(c.year) ? 1 : 0);
  return c;
}

struct IsoWeek {
  std::int64_t year;
  int week;
};

IsoWeek iso_week(const Calendar& c) {
  const int monday_based = (c.weekday + 6) % 7;
  const int week = (c.year_day - monday_based + 10) / 7;
  if (week < 1) {
    const int days = is_leap(c.year - 1) ? 366 : 365;
    return {c.year - 1, (c.year_day + days - monday_based + 10) / 7};
  }
  const int days = is_leap(c.year) ? 366 : 365;
  if (week == 53 && c.year_day - monday_based + 3 >= days) return {c.year + 1, 1};
  return {c.year, week};
}

int hour12(int hour) { return hour % 12 == 0 ? 12 : hour % 12; }

}  // namespace

std::string strftime_utc(std::int64_t unix_seconds, std::string_view format) {
  // Years 1 to 9999, as datetime's.
  const std::int64_t now = std::clamp<std::int64_t>(unix_seconds, -62135596800, 253402300799);
  const Calendar c = calendar(now);
  const std::string_view day = kDays[static_cast<std::size_t>(c.weekday)];
  const std::string_view month = kMonths[static_cast<std::size_t>(c.month - 1)];
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    ++i;
    bool padded = true;
    if (format[i] == '-' && i + 1 < format.size()) {  // glibc: %-d is %d without padding.
      padded = false;
      ++i;
    }
    const auto two = [&](std::int64_t n) {
      out += padded ? fmt::format("{:02}", n) : fmt::format("{}", n);
    };
    const auto blank = [&](std::int64_t n) {
      out += padded ? fmt::format("{:2}", n) : fmt::format("{}", n);
    };
    switch (format[i]) {
      case 'a':
        out += day.substr(0, 3);
        break;
      case 'A':
        out += day;
        break;
      case 'w':
        out += fmt::format("{}", c.weekday);
        break;
      case 'u':
        out += fmt::format("{}", c.weekday == 0 ? 7 : c.weekday);
        break;
      case 'd':
        two(c.day);
        break;
      case 'e':
        blank(c.day);
        break;
      case 'b':
      case 'h':
        out += month.substr(0, 3);
        break;
      case 'B':
        out += month;
        break;
      case 'm':
        two(c.month);
        break;
      case 'y':
        two(c.year % 100);
        break;
      case 'Y':
        out += fmt::format("{}", c.year);
        break;
      case 'C':
        two(c.year / 100);
        break;
      case 'H':
        two(c.hour);
        break;
      case 'k':
        blank(c.hour);
        break;
      case 'I':
        two(hour12(c.hour));
        break;
      case 'l':
        blank(hour12(c.hour));
        break;
      case 'p':
        out += c.hour < 12 ? "AM" : "PM";
        break;
      case 'P':
        out += c.hour < 12 ? "am" : "pm";
        break;
      case 'M':
        two(c.minute);
        break;
      case 'S':
        two(c.second);
        break;
      case 'f':
        out += "000000";
        break;
      case 'z':
        break;  // A naive datetime has no zone.
      case 'Z':
        break;
      case 's':
        out += fmt::format("{}", now);
        break;
      case 'j':
        out += padded ? fmt::format("{:03}", c.year_day + 1) : fmt::format("{}", c.year_day + 1);
        break;
      case 'U':
        two((c.year_day + 7 - c.weekday) / 7);
        break;
      case 'W':
        two((c.year_day + 7 - (c.weekday + 6) % 7) / 7);
        break;
      case 'V':
        two(iso_week(c).week);
        break;
      case 'G':
        out += fmt::format("{}", iso_week(c).year);
        break;
      case 'g':
        two(iso_week(c).year % 100);
        break;
      case 'c':
        out += strftime_utc(now, "%a %b %e %H:%M:%S %Y");
        break;
      case 'x':
      case 'D':
        out += strftime_utc(now, "%m/%d/%y");
        break;
      case 'X':
      case 'T':
        out += strftime_utc(now, "%H:%M:%S");
        break;
      case 'R':
        out += strftime_utc(now, "%H:%M");
        break;
      case 'r':
        out += strftime_utc(now, "%I:%M:%S %p");
        break;
      case 'F':
        out += strftime_utc(now, "%Y-%m-%d");
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '%':
        out += '%';
        break;
      default:
        out += padded ? "%" : "%-";
        out += format[i];
    }
  }
  return out;
}

}  // namespace weir::jinja
