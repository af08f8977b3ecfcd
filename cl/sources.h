/* The kernel sources inside the module, written by embed.cmake: cvy_cl_<name> is <name>.cl. */
#ifndef CVY_CL_SOURCES_H
#define CVY_CL_SOURCES_H

extern const char cvy_cl_conv_args[];
extern const char cvy_cl_common[];
extern const char cvy_cl_epilogue[];
extern const char cvy_cl_direct[];
extern const char cvy_cl_depthwise[];
extern const char cvy_cl_depthwise_tiles[];
extern const char cvy_cl_im2col[];
extern const char cvy_cl_space[];
extern const char cvy_cl_tile[];
extern const char cvy_cl_pack_and_reduce[];
extern const char cvy_cl_scatter_split_k[];
extern const char cvy_cl_implicit_gemm[];
extern const char cvy_cl_implicit_gemm_weights[];
extern const char cvy_cl_strided_data[];
extern const char cvy_cl_matmul[];
extern const char cvy_cl_pool[];
extern const char cvy_cl_moved[];
extern const char cvy_cl_copy_args[];
extern const char cvy_cl_copy[];
extern const char cvy_cl_concatenate[];
extern const char cvy_cl_resample[];
extern const char cvy_cl_reach[];
extern const char cvy_cl_few_channels[];
extern const char cvy_cl_long_rows[];
extern const char cvy_cl_long_rows_weights[];
extern const char cvy_cl_winograd_points[];
extern const char cvy_cl_winograd[];
extern const char cvy_cl_winograd_product[];
extern const char cvy_cl_winograd_patch[];
extern const char cvy_cl_winograd_fused[];
extern const char cvy_cl_winograd_fused_weights[];
extern const char cvy_cl_peak[];
extern const char cvy_cl_program_words[];
extern const char cvy_cl_program_functions[];
extern const char cvy_cl_program_random[];
extern const char cvy_cl_program_arrays[];
extern const char cvy_cl_program_reduce[];
extern const char cvy_cl_reduce_functions[];

#endif
