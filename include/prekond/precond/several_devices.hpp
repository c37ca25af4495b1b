// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/registry.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// Which setups several devices share.
enum class Sharing {
  where_faster,  ///< those that take them less time than one device, by an estimate
  always
};

/// A method whose setup is shared by several devices of one host. It is applied on the first one, as the
/// method of one device is.
///
/// The rows of the inverse (of a right SPAI the columns) are split into consecutive ranges, one a device: the
/// work of a row with m entries in A is taken to be 1 + m, and the speed of a device to be the number of its
/// multiprocessors times their clock. A device is sent A[R, R] for a range R of rows that its own depend on
/// (`reach()`), and runs the method on it for its own rows, without messages. Its findings are copied to the
/// first device, which transposes the whole factor and stores it as the method's options say. On the host G,
/// G_L and G_U, or M have the bits of one device's; on a GPU they agree to rounding, because some kernels
/// choose their lanes by the mean length of the rows that they are given.
///
/// Where the estimate of src/precond/distributed/devices/sharing_rule.hpp promises no gain, the first device
/// makes the setup, and a note of the report says so; `Sharing::always` does without the estimate.
///
/// For methods that know their reach: the static and adaptive FSAI, the FSAI of general matrices, SPAI and
/// ISAI, without options that make rows depend on all others (`block_size=0`, `relaxation_steps`). A's blocks
/// are expanded. A pattern of the user's cannot be given.
///
/// ```
/// std::vector<Kokkos::Cuda> others = ...;                        // of devices 1 .. N - 1
/// SeveralDevices<double, Kokkos::Cuda> m(*line.configure(), others);
/// m.numeric(space, a);                                           // space and a: of device 0
/// ```
///
/// `symbolic` finds the ranges; `numeric` runs both phases of the method where it is the first after it. Each
/// device has a thread of the host there (on hosts one works after another). Where several devices fail, what
/// is thrown is the error of the first. The listener is told what the first device has to say.
///
/// Cost beyond the method's: copies of A's rows and of G in each `numeric`. The rows that two devices read
/// are read twice, and solved once. Memory: on each device its rows of A during `numeric`, and between
/// numeric phases its part of G, which the first device has in addition to the whole: a next numeric phase
/// may keep the pattern. On GPUs temporaries of a phase, up to twice A's own bytes, are freed when all
/// devices have ended it, because Kokkos may wait for all of them there. The report's sums are those of all
/// devices, its fences the calling thread's, `setup_bytes` those of the device that holds most; `devices` has
/// each one's part.
///
/// Source: Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), section 3.4.
template <class Scalar, class Space>
class SeveralDevices : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using typename Method::Listener;
  using typename Method::matrix_source;

  /// `others`: an instance for each further device, whose memory views on it get (for CUDA, one made of a
  /// stream of that device); different instances of one device, and any of the host, do as well. The first
  /// device is that of the space that phases and applications are given.
  ///
  /// \throws InputError for a method that depends on all rows; names those that do not
  SeveralDevices(const Configurator<Method>& method, const std::vector<Space>& others,
                 Sharing sharing = Sharing::where_faster);
  ~SeveralDevices() override;

  std::string name() const override { return m_prototype->name(); }
  Properties properties() const override { return m_prototype->properties(); }
  RowReach reach() const override { return m_prototype->reach(); }
  void set_listener(const Listener& listener) override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  bool can_apply_add() const override { return true; }

  int num_devices() const { return static_cast<int>(m_others.size()) + 1; }
  /// The inverse that is applied, on the first device: a FactoredInverse or an ExplicitInverse, or the method
  /// itself where one device has set it up. \pre numeric
  const Method& inverse() const { return *m_inverse; }

 protected:
  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override {
    numeric_on_one(space, source, report);
  }
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  void apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  struct Device;

  std::vector<Device> planned(const Space& space, const CsrView<Scalar, Space>& a) const;
  std::string reason_for_one(const std::vector<Device>& devices, const CsrView<Scalar, Space>& a) const;
  void set_up(const Space& there, const CsrView<Scalar, Space>& a, const std::pair<double, double>& diagonal,
              Device& device);
  void numeric_on_one(const Space& space, const matrix_source& source, Report& report);
  void gather(const Space& space, const matrix_source& source, Report& report);

  std::unique_ptr<Configurator<Method>> m_method;  ///< with the options in force
  std::unique_ptr<Method> m_prototype;
  std::vector<Space> m_others;
  Sharing m_sharing;
  Listener m_listener;
  std::vector<Device> m_devices;      ///< of the last symbolic; none where one device makes the setup
  std::string m_reason;               ///< why it does, where there are several
  bool m_has_shared = false;          ///< whether a setup was shared before
  std::unique_ptr<Method> m_inverse;  ///< of several devices null until there are values
};

/// The names of the methods that SeveralDevices takes, with their default options.
template <class Scalar, class Space>
std::vector<std::string> methods_over_devices();

}  // namespace prekond
