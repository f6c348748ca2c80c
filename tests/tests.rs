
mod figure;
