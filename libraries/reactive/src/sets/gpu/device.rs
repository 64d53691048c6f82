//! A device: its buffers and kernels. What its driver refuses, now or later, ends in [`Refused`] and never in a panic.

use super::NoGpu;
use crate::sets::counts::Refused;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many threads a workgroup of the kernels has.
const WORKGROUP: u32 = 256;
/// The most workgroups in one direction, on any device.
const GROUPS_MAX: u32 = 65_535;

/// The kernels, by their names in the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    Xor,
    Differing,
    Boolean,
    MinPlus,
    Distances,
}

const KERNELS: [(Kernel, &str); 5] = [
    (Kernel::Xor, "xor_words"),
    (Kernel::Differing, "differing_bytes"),
    (Kernel::Boolean, "boolean_product"),
    (Kernel::MinPlus, "min_plus_product"),
    (Kernel::Distances, "distances"),
];

#[derive(Debug)]
pub(super) struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipelines: Vec<wgpu::ComputePipeline>,
    /// Whether the driver reported an error, or the device is gone.
    has_failed: Arc<AtomicBool>,
    buffer_bytes_max: u64,
    /// How often the driver was called.
    pub(super) calls: u64,
}

impl Device {
    /// The adapter that the system prefers, and a device of it.
    pub(super) fn open() -> Result<(wgpu::AdapterInfo, Self), NoGpu> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&options))
            .map_err(|error| NoGpu::Adapter(error.to_string()))?;
        let limits = adapter.limits();
        let wanted = wgpu::DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&wanted)).map_err(|error| NoGpu::Device(error.to_string()))?;
        let has_failed = Arc::new(AtomicBool::new(false));
        let (on_error, on_loss) = (Arc::clone(&has_failed), Arc::clone(&has_failed));
        device.on_uncaptured_error(Arc::new(move |_| on_error.store(true, Ordering::SeqCst)));
        device.set_device_lost_callback(move |_, _| on_loss.store(true, Ordering::SeqCst));
        let source = wgpu::ShaderSource::Wgsl(Cow::Borrowed(include_str!("kernels.wgsl")));
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipelines = KERNELS.iter().map(|(_, name)| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            })
        });
        let pipelines = pipelines.collect();
        if has_failed.load(Ordering::SeqCst) {
            return Err(NoGpu::Device("the device does not take the kernels".to_owned()));
        }
        let buffer_bytes_max = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        Ok((adapter.get_info(), Self { device, queue, pipelines, has_failed, buffer_bytes_max, calls: 0 }))
    }

    /// The longest that a buffer may be, in bytes.
    pub(super) fn buffer_bytes_max(&self) -> u64 {
        self.buffer_bytes_max
    }

    /// That nothing has failed so far.
    pub(super) fn check(&self) -> Result<(), Refused> {
        if self.has_failed.load(Ordering::SeqCst) { Err(Refused::Failed) } else { Ok(()) }
    }

    /// Whether it has failed, as that is known to everybody who asks.
    pub(super) fn failure(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_failed)
    }

    /// Sends nothing to it any more: it came to something wrong.
    pub(super) fn distrust(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
    }

    /// Ends it.
    #[cfg(test)]
    pub(super) fn lose(&self) {
        self.device.destroy();
    }

    fn buffer(&mut self, bytes: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Refused> {
        if bytes > self.buffer_bytes_max {
            return Err(Refused::TooLarge);
        }
        self.calls += 1;
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage,
            mapped_at_creation: false,
        });
        self.check()?;
        Ok(buffer)
    }

    /// A buffer for pages, of whole words.
    pub(super) fn storage(&mut self, bytes: u64) -> Result<wgpu::Buffer, Refused> {
        self.buffer(bytes, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST)
    }

    /// Writes whole words to a buffer.
    pub(super) fn write(&mut self, buffer: &wgpu::Buffer, at: u64, bytes: &[u8]) -> Result<(), Refused> {
        self.calls += 1;
        self.queue.write_buffer(buffer, at, bytes);
        // Nothing else waits until the memory that the driver takes meanwhile is given back.
        self.queue.submit([]);
        self.check()
    }

    /// Runs a kernel over two buffers; gives what it wrote, `words` of 32 bits. The first parameter is the number of threads.
    pub(super) fn run(
        &mut self,
        kernel: Kernel,
        [left, right]: [&wgpu::Buffer; 2],
        parameters: [u32; 4],
        words: u64,
    ) -> Result<Vec<u32>, Refused> {
        self.check()?;
        let bytes = words.checked_mul(4).ok_or(Refused::TooLarge)?;
        let out = self.buffer(bytes, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC)?;
        let read = self.buffer(bytes, wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ)?;
        let uniform = self.buffer(16, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST)?;
        let written: Vec<u8> = parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect();
        self.queue.write_buffer(&uniform, 0, &written);
        let place = KERNELS.iter().position(|(other, _)| *other == kernel).unwrap_or_default();
        let pipeline = &self.pipelines[place];
        let bound = [left, right, &out, &uniform];
        let entries: Vec<_> = (0..)
            .zip(bound)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let layout = pipeline.get_bind_group_layout(0);
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            let groups = parameters[0].div_ceil(WORKGROUP);
            let across = groups.min(GROUPS_MAX);
            pass.dispatch_workgroups(across, groups.div_ceil(across.max(1)), 1);
        }
        encoder.copy_buffer_to_buffer(&out, 0, &read, 0, bytes);
        self.calls += 1;
        self.queue.submit([encoder.finish()]);
        self.read(&read)
    }

    /// What a buffer holds when all work is done.
    fn read(&mut self, buffer: &wgpu::Buffer) -> Result<Vec<u32>, Refused> {
        let is_mapped = Arc::new(AtomicBool::new(false));
        let mapped = Arc::clone(&is_mapped);
        buffer.map_async(wgpu::MapMode::Read, .., move |result| mapped.store(result.is_ok(), Ordering::SeqCst));
        self.calls += 1;
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        if waited.is_err() || !is_mapped.load(Ordering::SeqCst) {
            self.has_failed.store(true, Ordering::SeqCst);
            return Err(Refused::Failed);
        }
        let view = buffer.get_mapped_range(..).map_err(|_| Refused::Failed)?;
        Ok(view.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}
