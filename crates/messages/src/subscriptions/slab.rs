//! An array whose places are named by numbers of four bytes, and used again.

/// The array.
#[derive(Debug)]
pub struct Slab<V> {
    places: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<V> Slab<V> {
    /// Stores a value and returns its place.
    pub fn put(&mut self, value: V) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(value);
            return place;
        }
        let place = u32::try_from(self.places.len()).expect("memory ends before four billion values");
        self.places.push(Some(value));
        place
    }

    /// The value of a taken place.
    pub fn get(&self, place: u32) -> &V {
        self.places[place as usize].as_ref().expect("the place is taken")
    }

    /// The value of a taken place.
    pub fn get_mut(&mut self, place: u32) -> &mut V {
        self.places[place as usize].as_mut().expect("the place is taken")
    }

    /// Removes the value of a taken place.
    pub fn take(&mut self, place: u32) -> V {
        let value = self.places[place as usize].take().expect("the place is taken");
        self.free.push(place);
        value
    }

    /// The number of values.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
