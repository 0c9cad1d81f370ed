#pragma once

/// The models Weir knows by name: small ones that a Python package carries, so that pip (with the
/// configuration, mirrors and proxies its user gave it) fetches them and no host stands in our
/// code. Thread safety: constant data.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir::hub {

/// A package at one version; its wheel is a zip.
struct Package {
  std::string_view name;
  std::string_view version;
  std::uint64_t bytes;  ///< Of the wheel.
};

/// A file of a model: one member of a package, or several in order.
struct CatalogueFile {
  std::string_view name;  ///< In the model's folder.
  std::uint64_t bytes;
  std::string_view sha256;
  /// In the wheel. "{part:02}" stands for the part's number from 0, "{package}" for its package's
  /// from 1.
  std::string_view member;
  std::uint32_t first_package = 0;  ///< Parts 0, 1, ... lie in packages first_package, + 1, ...
  std::uint32_t parts = 1;
};

struct CatalogueModel {
  std::string_view name;
  std::string_view description;
  std::string_view licence;
  std::string_view version;  ///< Of what is fetched; a new one is a new folder.
  std::span<const Package> packages;
  std::span<const CatalogueFile> files;  ///< One: the model is that file. More: it is their folder.

  [[nodiscard]] std::uint64_t bytes() const;           ///< On disk.
  [[nodiscard]] std::uint64_t download_bytes() const;  ///< Over the wire.
};

[[nodiscard]] std::span<const CatalogueModel> catalogue();
[[nodiscard]] const CatalogueModel* find_in_catalogue(std::string_view name);

}  // namespace weir::hub
