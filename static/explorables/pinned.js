/* Measures what a copy costs a page, beside the two ways of a copy. */
import { picture } from "./explorable.js";

export default picture("copies");
