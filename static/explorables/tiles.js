/* Measures products in tiles, and fused kernels, beside the picture of the tiles. */
import { picture } from "./explorable.js";

export default picture("tiles");
